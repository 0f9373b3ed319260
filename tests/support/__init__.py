"""What tests share: builders and simulations."""
