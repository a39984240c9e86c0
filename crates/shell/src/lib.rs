//! Shell text to a small, judged form: Script or Opaque. Pure.
