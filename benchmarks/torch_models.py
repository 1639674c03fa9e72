"""The paper's models and objective in PyTorch, to compare newfound's steps with. Written for speed, as one would.

Labelled and unlabelled rows go through every network in one pass, as newfound does it; Adam is PyTorch's fused one.
`enumerated` takes the expectation over y as public implementations of the model do: every unlabelled row is repeated
for each component, and all of them go through encoder and decoder.
"""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

TEMPERATURE, ALPHA, MAX_NORM, LEARNING_RATE = 0.5, 1.0, 100.0, 1e-3


def perceptron(n_in: int, units: int, n_out: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(n_in, units), nn.ReLU(), nn.Linear(units, units), nn.ReLU(), nn.Linear(units, n_out))


class TorchModel(nn.Module):
    """GM-DGM or SSVAE, with the posterior q(z | x, y) q(y | x)."""

    def __init__(self, model: str, inputs: int, units: int, latent: int, n_components: int, likelihood: str):
        super().__init__()
        self.model, self.likelihood, self.n_components, self.latent = model, likelihood, n_components, latent
        self.classifier = perceptron(inputs, units, n_components)
        self.encoder = perceptron(inputs + n_components, units, 2 * latent)
        self.decoder = perceptron(latent + (n_components if model == "ssvae" else 0), units, inputs)
        self.register_buffer("log_p_y", torch.full((n_components,), -float(torch.log(torch.tensor(n_components)))))
        if model == "gmdgm":
            self.component_mean = nn.Parameter(torch.randn(n_components, latent))
            self.component_log_var = nn.Parameter(torch.zeros(n_components, latent))
        if likelihood == "gaussian":
            self.log_sd = nn.Parameter(torch.zeros(inputs))

    def forward(self, x: torch.Tensor, one_hot: torch.Tensor, n_labelled: int) -> torch.Tensor:
        """The loss of a batch whose first rows have labels."""
        if self.likelihood == "bernoulli":
            x = torch.bernoulli(x)
        log_q = functional.log_softmax(self.classifier(x), dim=1)
        free = log_q[n_labelled:]
        noise = -torch.log(-torch.log(torch.rand_like(free).clamp_(1e-20, 1.0 - 1e-7)))
        y = torch.cat([one_hot, functional.softmax((free + noise) / TEMPERATURE, dim=1)])
        bound = self.bound_given_y(x, y)
        kl_y = (free.exp() * (free - self.log_p_y)).sum(dim=1)
        labelled = bound[:n_labelled] + one_hot @ self.log_p_y + ALPHA * (one_hot * log_q[:n_labelled]).sum(dim=1)
        return -labelled.mean() - (bound[n_labelled:] - kl_y).mean()

    def bound_given_y(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        mean, log_var = self.encoder(torch.cat([x, y], dim=1)).chunk(2, dim=1)
        z = mean + torch.exp(0.5 * log_var) * torch.randn_like(mean)
        if self.model == "gmdgm":
            p_mean, p_log_var = y @ self.component_mean, y @ self.component_log_var
            squared = (log_var.exp() + (mean - p_mean).square()) * torch.exp(-p_log_var)
            kl_z = 0.5 * (p_log_var - log_var - 1 + squared).sum(dim=1)
            output = self.decoder(z)
        else:
            kl_z = 0.5 * (log_var.exp() + mean.square() - log_var - 1).sum(dim=1)
            output = self.decoder(torch.cat([z, y], dim=1))
        return self.log_p_x(x, output) - kl_z

    def log_p_x(self, x: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        if self.likelihood == "bernoulli":
            return -functional.binary_cross_entropy_with_logits(output, x, reduction="none").sum(dim=1)
        return (-0.5 * ((x - output) * torch.exp(-self.log_sd)).square() - self.log_sd - 0.9189385).sum(dim=1)

    def enumerated(self, x: torch.Tensor, one_hot: torch.Tensor, n_labelled: int) -> torch.Tensor:
        """The same loss, with the expectation over y of unlabelled rows as a sum over all components."""
        if self.likelihood == "bernoulli":
            x = torch.bernoulli(x)
        log_q = functional.log_softmax(self.classifier(x), dim=1)
        free = log_q[n_labelled:]
        every = torch.eye(self.n_components).repeat(len(free), 1)
        bounds = self.bound_given_y(x[n_labelled:].repeat_interleave(self.n_components, dim=0), every)
        expected = (free.exp() * (bounds.view_as(free) - free + self.log_p_y)).sum(dim=1)
        labelled = self.bound_given_y(x[:n_labelled], one_hot) + one_hot @ self.log_p_y
        return -(labelled + ALPHA * (one_hot * log_q[:n_labelled]).sum(dim=1)).mean() - expected.mean()


def steps_of(
    model: TorchModel, x: torch.Tensor, labels: torch.Tensor, n_labelled: int, n_steps: int, how: str
) -> Callable[[], None]:
    """A function that makes `n_steps` steps: "eager", "fused" (Adam), "compiled", or "enumerating"."""
    one_hot = functional.one_hot(labels, model.n_components).float()
    optimiser = torch.optim.Adam(model.parameters(), LEARNING_RATE, fused=how != "eager")
    loss_of = model.enumerated if how == "enumerating" else model.forward
    if how == "compiled":
        torch.compiler.reset()  # nothing of another shape: each gets code of its own
        loss_of = torch.compile(loss_of, dynamic=False)

    def run() -> None:
        for _ in range(n_steps):
            optimiser.zero_grad(set_to_none=True)
            loss = loss_of(x, one_hot, n_labelled)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
            optimiser.step()

    return run
