//! Object lock: bucket configurations, and retentions and legal holds of versions.

use http::StatusCode;
use s3s::dto::{
    DefaultRetention as ShownDefault, GetObjectLegalHoldInput, GetObjectLegalHoldOutput,
    GetObjectLockConfigurationInput, GetObjectLockConfigurationOutput, GetObjectRetentionInput,
    GetObjectRetentionOutput, ObjectLockConfiguration, ObjectLockEnabled, ObjectLockLegalHold,
    ObjectLockLegalHoldStatus, ObjectLockRetention, ObjectLockRetentionMode, ObjectLockRule,
    PutObjectLegalHoldInput, PutObjectLegalHoldOutput, PutObjectLockConfigurationInput,
    PutObjectLockConfigurationOutput, PutObjectRetentionInput, PutObjectRetentionOutput,
};
use s3s::{S3Error, S3Request, S3Result};
use store::{Key, Protect, Protection, RetentionChange, RetentionMode, VersionId, Versioning};

use super::StoreService;
use super::versions::requested_version;
use crate::access::may_bypass;
use crate::attributes::at;
use crate::error::{fault, invalid_state};
use crate::lock::{self, DefaultRetention, ObjectLock, Span};
use crate::names;

impl StoreService {
    /// Returns the bucket's configuration.
    pub(super) async fn get_object_lock_configuration(
        &self,
        request: S3Request<GetObjectLockConfigurationInput>,
    ) -> S3Result<GetObjectLockConfigurationOutput> {
        let record = self.bucket(&request.input.bucket).await?;
        let none = || {
            let code = "ObjectLockConfigurationNotFoundError";
            not_found(code, "the bucket has no object lock configuration")
        };
        let lock = ObjectLock::of(&record)?.ok_or_else(none)?;
        let rule = lock.default.map(|default| ObjectLockRule {
            default_retention: Some(default_to_s3(default)),
        });
        Ok(GetObjectLockConfigurationOutput {
            object_lock_configuration: Some(ObjectLockConfiguration {
                object_lock_enabled: Some(ObjectLockEnabled::from_static(ObjectLockEnabled::ENABLED)),
                rule,
            }),
        })
    }

    /// Enables object lock on a versioned bucket, or changes its default retention.
    pub(super) async fn put_object_lock_configuration(
        &self,
        request: S3Request<PutObjectLockConfigurationInput>,
    ) -> S3Result<PutObjectLockConfigurationOutput> {
        let input = request.input;
        let requested = input.object_lock_configuration.unwrap_or_default();
        let enabled = requested
            .object_lock_enabled
            .as_ref()
            .map(ObjectLockEnabled::as_str);
        if enabled != Some(ObjectLockEnabled::ENABLED) {
            return Err(fault("MalformedXML", "ObjectLockEnabled must be Enabled"));
        }
        let default = requested.rule.and_then(|rule| rule.default_retention);
        let default = default.as_ref().map(DefaultRetention::of).transpose()?;
        self.change_bucket(&input.bucket, |record, attributes| {
            if record.versioning() != Versioning::Enabled {
                return Err(invalid_state(
                    "object lock requires a bucket with enabled versioning",
                ));
            }
            let (name, value) = ObjectLock { default }.attribute();
            attributes.insert(name, value);
            Ok(())
        })
        .await?;
        Ok(PutObjectLockConfigurationOutput::default())
    }

    /// Returns the retention of a version.
    pub(super) async fn get_object_retention(
        &self,
        request: S3Request<GetObjectRetentionInput>,
    ) -> S3Result<GetObjectRetentionOutput> {
        let input = request.input;
        let id = requested_version(input.version_id.as_deref())?;
        let protection = self.protection(&input.bucket, &input.key, id).await?;
        let none = || not_found("NoSuchObjectLockConfiguration", "the object has no retention");
        let retention = protection.retention.ok_or_else(none)?;
        let mode = lock::mode_name(retention.mode);
        Ok(GetObjectRetentionOutput {
            retention: Some(ObjectLockRetention {
                mode: Some(ObjectLockRetentionMode::from_static(mode)),
                retain_until_date: Some(at(retention.until_ms)),
            }),
        })
    }

    /// Sets, extends or ends the retention of a version.
    pub(super) async fn put_object_retention(
        &self,
        request: S3Request<PutObjectRetentionInput>,
    ) -> S3Result<PutObjectRetentionOutput> {
        let input = request.input;
        let id = requested_version(input.version_id.as_deref())?;
        let key = names::object(&input.bucket, &input.key)?;
        ObjectLock::of_bucket(&self.bucket(&input.bucket).await?)?;
        let requested = input
            .retention
            .map(|requested| (requested.mode, requested.retain_until_date));
        let to = match requested.unwrap_or_default() {
            (None, None) => None,
            (Some(mode), Some(until)) => Some(lock::retention(mode.as_str(), &until)?),
            _ => return Err(fault("MalformedXML", "a retention requires a mode and an end")),
        };
        let bypass_governance =
            input.bypass_governance_retention == Some(true) && may_bypass(&request.extensions);
        let protect = Protect {
            retention: RetentionChange::Set(to),
            hold: None,
            bypass_governance,
        };
        let target = (input.bucket.as_str(), &key, id);
        self.rewrite_protected(target, &request.extensions, protect, |meta, _| {
            // The store lets anybody make a retention stricter. In S3, changing the mode needs this
            // permission.
            let now = Protection::of(&meta.attributes).in_force(system::wall_ms());
            let is_governance = now
                .and_then(|now| now.retention)
                .is_some_and(|now| now.mode == RetentionMode::Governance);
            let changes_mode = to.is_some_and(|to| to.mode != RetentionMode::Governance);
            if is_governance && changes_mode && !bypass_governance {
                Err(fault(
                    "AccessDenied",
                    "changing the mode of a retention in force requires a bypass of governance",
                ))
            } else {
                Ok(())
            }
        })
        .await?;
        Ok(PutObjectRetentionOutput::default())
    }

    /// Returns whether a version is under a legal hold.
    pub(super) async fn get_object_legal_hold(
        &self,
        request: S3Request<GetObjectLegalHoldInput>,
    ) -> S3Result<GetObjectLegalHoldOutput> {
        let input = request.input;
        let id = requested_version(input.version_id.as_deref())?;
        let protection = self.protection(&input.bucket, &input.key, id).await?;
        let status = if protection.hold {
            ObjectLockLegalHoldStatus::ON
        } else {
            ObjectLockLegalHoldStatus::OFF
        };
        Ok(GetObjectLegalHoldOutput {
            legal_hold: Some(ObjectLockLegalHold {
                status: Some(ObjectLockLegalHoldStatus::from_static(status)),
            }),
        })
    }

    /// Sets or ends a legal hold on a version.
    pub(super) async fn put_object_legal_hold(
        &self,
        request: S3Request<PutObjectLegalHoldInput>,
    ) -> S3Result<PutObjectLegalHoldOutput> {
        let input = request.input;
        let id = requested_version(input.version_id.as_deref())?;
        let key = names::object(&input.bucket, &input.key)?;
        ObjectLock::of_bucket(&self.bucket(&input.bucket).await?)?;
        let status = input.legal_hold.and_then(|hold| hold.status);
        let hold = lock::read_hold(status.as_ref().map_or("", |status| status.as_str()))?;
        let protect = Protect {
            hold: Some(hold),
            ..Protect::default()
        };
        let target = (input.bucket.as_str(), &key, id);
        self.rewrite_protected(target, &request.extensions, protect, |_, _| Ok(()))
            .await?;
        Ok(PutObjectLegalHoldOutput::default())
    }

    /// Returns the protection of a version in a bucket with object lock.
    async fn protection(&self, bucket: &str, name: &str, id: Option<VersionId>) -> S3Result<Protection> {
        let key = names::object(bucket, name)?;
        ObjectLock::of_bucket(&self.bucket(bucket).await?)?;
        let meta = self.head_of(&self.store, bucket, &key, id).await?;
        Ok(Protection::of(&meta.attributes))
    }

    /// Ends a `governance` retention of a version that is about to be removed. Does nothing if
    /// anything else protects the version.
    pub(super) async fn lift(&self, key: &Key, id: VersionId, extensions: &http::Extensions) -> S3Result<()> {
        let Ok(meta) = self.store.head_version(key, id).await else {
            // The removal then reports the error.
            return Ok(());
        };
        let protection = Protection::of(&meta.attributes).in_force(system::wall_ms());
        let mode = protection
            .filter(|protection| !protection.hold)
            .and_then(|protection| protection.retention);
        if mode.is_none_or(|retention| retention.mode != RetentionMode::Governance) {
            return Ok(());
        }
        let protect = Protect {
            retention: RetentionChange::Set(None),
            hold: None,
            bypass_governance: true,
        };
        self.rewrite_protected((key.bucket(), key, Some(id)), extensions, protect, |_, _| Ok(()))
            .await?;
        Ok(())
    }
}

fn default_to_s3(default: DefaultRetention) -> ShownDefault {
    let (days, years) = match default.span {
        Span::Days(days) => (i32::try_from(days).ok(), None),
        Span::Years(years) => (None, i32::try_from(years).ok()),
    };
    ShownDefault {
        days,
        mode: Some(ObjectLockRetentionMode::from_static(lock::mode_name(
            default.mode,
        ))),
        years,
    }
}

/// Sets an output's fields for the protection of a version.
macro_rules! set_lock {
    ($output:expr, $meta:expr) => {{
        let protection = store::Protection::of(&$meta.attributes);
        if let Some(retention) = protection.retention {
            let mode = $crate::lock::mode_name(retention.mode);
            $output.object_lock_mode = Some(s3s::dto::ObjectLockMode::from_static(mode));
            $output.object_lock_retain_until_date = Some($crate::attributes::at(retention.until_ms));
        }
        if protection.hold {
            let on = s3s::dto::ObjectLockLegalHoldStatus::ON;
            $output.object_lock_legal_hold_status =
                Some(s3s::dto::ObjectLockLegalHoldStatus::from_static(on));
        }
    }};
}

pub(super) use set_lock;

fn not_found(code: &str, detail: &str) -> S3Error {
    let mut error = fault(code, detail);
    error.set_status_code(StatusCode::NOT_FOUND);
    error
}
