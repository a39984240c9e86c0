mod lex;
mod parse;
mod screen;
mod word;
pub fn parse(text: &str) -> Result<ostler_core::permission::script::Script, ostler_core::permission::script::Opaque> {
    parse::read(text).map(|r| r.script)
}
