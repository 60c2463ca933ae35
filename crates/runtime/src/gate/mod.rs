//! The gate mode: enforces orders at chosen instructions.
