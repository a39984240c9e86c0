//! Where a link on a page leads.

/// An address that can be fetched. None for a place on the same page, for scripts and for mail.
pub fn absolute(to: &str, base: &str) -> Option<String> {
    let to = to.trim();
    if to.is_empty() || to.starts_with('#') || to.chars().any(char::is_control) {
        return None;
    }
    let to = to.replace(' ', "%20");
    let (scheme, rest) = base.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    let origin = format!("{scheme}://{host}");
    if to.starts_with("//") {
        return Some(format!("{scheme}:{to}"));
    }
    if to.starts_with('/') {
        return Some(origin + &to);
    }
    let first = to.split(['/', '?', '#']).next().unwrap_or_default();
    if first.contains(':') {
        let is_web = |scheme: &str| {
            to.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        };
        return (is_web("http://") || is_web("https://")).then_some(to);
    }
    let path = path.split(['?', '#']).next().unwrap_or_default();
    if to.starts_with('?') {
        return Some(format!("{origin}{path}{to}"));
    }
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    Some(format!("{origin}{}", joined(folder, &to)))
}

/// Without `.` and `..`.
fn joined(folder: &str, to: &str) -> String {
    let end = to.find(['?', '#']).unwrap_or(to.len());
    let (path, rest) = to.split_at(end);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}{rest}", parts.join("/"))
}
