"""What tests share: builders, oracles and simulations."""
