pub struct Denied;
pub enum Refusal {
    A,
}
pub fn denial_hint() {}
