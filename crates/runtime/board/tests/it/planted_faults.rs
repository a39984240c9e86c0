//! Cases that have to fail, without their panics among the output of the other tests.

use std::panic::{set_hook, take_hook};
use std::sync::Once;
use std::thread::{Builder, current};

const NAME: &str = "planted";

pub fn fails(case: impl FnOnce() + Send + 'static) -> bool {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if current().name() != Some(NAME) {
                usual(panic);
            }
        }));
    });
    Builder::new().name(NAME.to_owned()).spawn(case).unwrap().join().is_err()
}
