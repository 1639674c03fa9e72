"""What newfound needs of the machine it runs on: files, threads, words."""
