use super::*;
use std::collections::HashSet;

const LEASE: u64 = 2;
const MOST_TOKEN: u64 = 4;
const MOST_TIME: u64 = 6;
const MOST_DELIVERIES: u32 = 2;

/// A mail, the last token, the time, and how often a reader was told that it is acknowledged for the first time.
type Small = (MailState, u64, u64, u32);

#[test]
fn every_state_of_a_mail_is_in_order() {
    walk(false);
    walk(true);
}

/// `reclaims`: the reader is started again at any moment.
fn walk(reclaims: bool) {
    let first: Small = (MailState::new(), 0, 0, 0);
    let (mut seen, mut open) = (HashSet::from([first.clone()]), vec![first]);
    while let Some((state, token, now, acknowledged)) = open.pop() {
        assert!(acknowledged <= 1, "a mail is settled once");
        assert_eq!(state.lease_until > 0, state.status == MailStatus::Delivered);
        assert_eq!(
            state.why.is_some(),
            matches!(state.status, MailStatus::Bounced | MailStatus::Dead)
        );
        let most = if reclaims { token } else { MOST_DELIVERIES.into() };
        assert!(u64::from(state.deliveries) <= most);
        let mut next = vec![];
        if now < MOST_TIME {
            next.push((state.clone(), token, now + 1, acknowledged));
        }
        let mut changes = vec![
            MailChange::Expire { most: MOST_DELIVERIES },
            MailChange::Bounce { why: "gone".into() },
        ];
        if reclaims {
            changes.push(MailChange::Reclaim);
        }
        if token < MOST_TOKEN {
            changes.push(MailChange::Deliver { token: token + 1, until: now + LEASE });
        }
        for token in 0..=token {
            changes.push(MailChange::Acknowledge { token });
            changes.push(MailChange::Fail { token, why: "no".into(), most: MOST_DELIVERIES });
        }
        for change in changes {
            let to = step(&state, &change, now);
            let is_held = state.status == MailStatus::Delivered && state.lease_until > now;
            match (&change, &to) {
                (
                    MailChange::Acknowledge { token } | MailChange::Fail { token, .. },
                    Ok(MailStep::To(_)),
                ) => {
                    assert!(is_held && *token == state.token, "{state:?} {change:?}");
                }
                (MailChange::Acknowledge { token }, Ok(MailStep::Recorded)) => {
                    assert_eq!((state.status, state.token), (MailStatus::Acknowledged, *token));
                }
                (MailChange::Deliver { .. }, to) => {
                    assert_eq!(to.is_ok(), state.status == MailStatus::Unread);
                }
                (_, Ok(_)) => assert!(!state.status.is_settled(), "{state:?} {change:?}"),
                (_, Err(NotYours)) => {}
            }
            if let Ok(MailStep::To(to)) = to {
                let token =
                    if matches!(change, MailChange::Deliver { .. }) { token + 1 } else { token };
                let new = u32::from(to.status == MailStatus::Acknowledged);
                next.push((to, token, now, acknowledged + new));
            }
        }
        for each in next {
            if seen.insert(each.clone()) {
                open.push(each);
            }
        }
    }
    let found: HashSet<MailStatus> = seen.iter().map(|(state, ..)| state.status).collect();
    assert_eq!(found.len(), MailStatus::ALL.len());
    assert!(seen.len() > 100, "{}", seen.len());
}
