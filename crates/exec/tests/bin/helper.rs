fn main() { ostler_exec::supervise() }
