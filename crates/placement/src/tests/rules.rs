//! Tests of the rules of roles, and of layouts that follow one another.

use super::support::*;
use crate::*;

/// Returns the error for a change of valid roles.
fn refused(change: impl FnOnce(&mut Roles)) -> RolesError {
    let mut roles = roles(2, &grid(3, 2));
    assert_eq!(roles.check(), Ok(()));
    change(&mut roles);
    roles.check().unwrap_err()
}

#[test]
fn roles_that_break_a_rule_are_refused_by_name() {
    let n = |name: &str| NodeId::from(name.to_owned());
    let v = |name: &str| VolumeId::from(name.to_owned());
    assert_eq!(refused(|r| r.replicas = 0), RolesError::Replicas(0));
    assert_eq!(refused(|r| r.replicas = 9), RolesError::Replicas(9));
    assert_eq!(refused(|r| r.volumes.clear()), RolesError::NoVolumes);
    assert_eq!(
        refused(|r| r.volumes.iter_mut().for_each(|v| v.weight = 0)),
        RolesError::NoWeight
    );
    assert_eq!(
        refused(|r| r.nodes.push(r.nodes[0].clone())),
        RolesError::NodeTwice(n("n0-0"))
    );
    assert_eq!(
        refused(|r| r.volumes.push(r.volumes[1].clone())),
        RolesError::VolumeTwice(v("n0-1/d1"))
    );
    assert_eq!(
        refused(|r| _ = r.retired.insert(v("n1-0/d1"))),
        RolesError::Retired(v("n1-0/d1"))
    );
    assert!(matches!(
        refused(|r| r.volumes[0].node = n("x")),
        RolesError::UnknownNode { .. }
    ));
    assert!(matches!(
        refused(|r| r.volumes[0].id = v("a b")),
        RolesError::Name { what: "volume", .. }
    ));
    assert!(matches!(
        refused(|r| r.nodes[0].id = n("")),
        RolesError::Name { what: "node", .. }
    ));
    assert!(matches!(
        refused(|r| r.volumes[2].node = n("n0-0")),
        RolesError::NodeInZones { .. }
    ));
    let many = |r: &mut Roles| r.volumes = vec![r.volumes[0].clone(); VOLUMES_MAX + 1];
    assert_eq!(refused(many), RolesError::Volumes(VOLUMES_MAX + 1));
}

#[test]
fn layouts_follow_one_another() {
    let first = Layouts::first(roles(2, &grid(3, 2)), 9).unwrap();
    assert_eq!((first.current.number, first.older.len()), (1, 0));

    let mut fewer = first.current.roles.clone();
    let gone = fewer.volumes.remove(0);
    let second = first.next(fewer).unwrap();
    assert_eq!((second.current.number, second.current.seed), (2, 9));
    assert_eq!(second.older, std::slice::from_ref(&first.current));
    assert!(second.current.roles.retired.contains(&gone.id));

    let mut again = second.current.roles.clone();
    again.volumes.push(gone.clone());
    again.retired.clear();
    assert_eq!(second.next(again), Err(RolesError::Retired(gone.id)));

    let third = second.next(second.current.roles.clone()).unwrap();
    let numbers = |layouts: &Layouts| layouts.older.iter().map(|l| l.number).collect::<Vec<_>>();
    assert_eq!(numbers(&third), [2, 1]);
}

#[test]
fn digests_tell_layouts_apart() {
    let layout = layout(1, roles(2, &grid(3, 2)));
    let mut digests = vec![layout.digest()];
    let changes: [&dyn Fn(&mut Layout); 8] = [
        &|l| l.number = 2,
        &|l| l.seed = 2,
        &|l| l.roles.replicas = 3,
        &|l| l.roles.nodes[0].address = "a:1".to_owned(),
        &|l| l.roles.nodes[0].zone = "z9".to_owned(),
        &|l| l.roles.volumes[0].weight += 1,
        &|l| l.roles.volumes[0].zone = "z9".to_owned(),
        &|l| _ = l.roles.retired.insert("old/d1".to_owned().into()),
    ];
    for change in changes {
        let mut other = layout.clone();
        change(&mut other);
        digests.push(other.digest());
    }
    let different: std::collections::BTreeSet<_> = digests.iter().collect();
    assert_eq!(different.len(), digests.len());
    assert_eq!(layout.digest(), layout.clone().digest());
}

#[test]
fn no_layout_is_made_with_more_copies_than_volumes_that_may_hold_them() {
    let mut drained = roles(2, &grid(1, 2));
    drained.volumes[1].weight = 0;
    let error = RolesError::Copies {
        replicas: 2,
        volumes: 1,
    };
    assert_eq!(drained.copies(), 1);
    assert_eq!(drained.check(), Ok(()), "an older layout must still be accepted");
    assert_eq!(Layouts::first(drained.clone(), 9), Err(error.clone()));
    let first = Layouts::first(roles(2, &grid(1, 2)), 9).unwrap();
    assert_eq!(first.next(drained), Err(error));
}
