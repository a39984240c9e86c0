pub fn self_test() {}
