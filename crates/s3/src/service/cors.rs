//! CORS rules of a bucket: put, get, delete. [`crate::cors`] applies them.

use s3s::dto::{
    CORSRule, DeleteBucketCorsInput, DeleteBucketCorsOutput, GetBucketCorsInput, GetBucketCorsOutput,
    PutBucketCorsInput, PutBucketCorsOutput,
};
use s3s::{S3Request, S3Result};

use super::StoreService;
use crate::cors::{CORS, METHODS, Rule, rules};
use crate::error::fault;

/// Most rules of a bucket, as in S3.
const RULES_MAX: usize = 100;

/// Most bytes of all rules as JSON; S3 allows 64 KB of XML.
const RULES_BYTES_MAX: usize = 64 * 1024;

impl StoreService {
    /// Returns the rules.
    pub(super) async fn get_bucket_cors(
        &self,
        request: S3Request<GetBucketCorsInput>,
    ) -> S3Result<GetBucketCorsOutput> {
        let rules = rules(&self.bucket(&request.input.bucket).await?);
        if rules.is_empty() {
            let detail = "the bucket has no CORS configuration";
            return Err(fault("NoSuchCORSConfiguration", detail));
        }
        Ok(GetBucketCorsOutput {
            cors_rules: Some(rules.into_iter().map(rule_to_s3).collect()),
        })
    }

    /// Replaces the rules.
    pub(super) async fn put_bucket_cors(
        &self,
        request: S3Request<PutBucketCorsInput>,
    ) -> S3Result<PutBucketCorsOutput> {
        let input = request.input;
        let rules = input.cors_configuration.cors_rules;
        if rules.is_empty() || rules.len() > RULES_MAX {
            let detail = format!("a CORS configuration must have 1 to {RULES_MAX} rules");
            return Err(fault("MalformedXML", detail));
        }
        let rules = rules
            .into_iter()
            .map(rule_from_s3)
            .collect::<S3Result<Vec<_>>>()?;
        let wrong = |error: serde_json::Error| fault("InternalError", error.to_string());
        let text = serde_json::to_string(&rules).map_err(wrong)?;
        if text.len() > RULES_BYTES_MAX {
            let detail = format!(
                "the rules have {} bytes, at most {RULES_BYTES_MAX} are allowed",
                text.len()
            );
            return Err(fault("InvalidRequest", detail));
        }
        self.change_bucket(&input.bucket, |_, attributes| {
            attributes.insert(CORS.to_owned(), text.clone());
            Ok(())
        })
        .await?;
        Ok(PutBucketCorsOutput::default())
    }

    /// Removes the rules.
    pub(super) async fn delete_bucket_cors(
        &self,
        request: S3Request<DeleteBucketCorsInput>,
    ) -> S3Result<DeleteBucketCorsOutput> {
        self.change_bucket(&request.input.bucket, |_, attributes| {
            attributes.remove(CORS);
            Ok(())
        })
        .await?;
        Ok(DeleteBucketCorsOutput::default())
    }
}

/// Converts a rule to its stored form.
fn rule_from_s3(rule: CORSRule) -> S3Result<Rule> {
    let rule = Rule {
        id: rule.id,
        origins: rule.allowed_origins,
        methods: rule.allowed_methods,
        headers: rule.allowed_headers.unwrap_or_default(),
        exposed: rule.expose_headers.unwrap_or_default(),
        max_age_seconds: rule.max_age_seconds,
    };
    if rule.origins.is_empty() || rule.methods.is_empty() {
        return Err(fault("MalformedXML", "a rule requires an origin and a method"));
    }
    if let Some(method) = rule
        .methods
        .iter()
        .find(|method| !METHODS.contains(&method.as_str()))
    {
        let detail = format!("found unsupported HTTP method in CORS config: {method:?}");
        return Err(fault("InvalidRequest", detail));
    }
    let mut patterns = rule.origins.iter().chain(&rule.headers);
    if let Some(pattern) = patterns.find(|pattern| pattern.matches('*').count() > 1) {
        return Err(fault(
            "InvalidRequest",
            format!("{pattern:?} has more than one *"),
        ));
    }
    Ok(rule)
}

fn rule_to_s3(rule: Rule) -> CORSRule {
    let some = |names: Vec<String>| (!names.is_empty()).then_some(names);
    CORSRule {
        id: rule.id,
        allowed_origins: rule.origins,
        allowed_methods: rule.methods,
        allowed_headers: some(rule.headers),
        expose_headers: some(rule.exposed),
        max_age_seconds: rule.max_age_seconds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_cannot_be_are_refused() {
        let rule = CORSRule {
            allowed_origins: vec!["https://*.example.org".to_owned()],
            allowed_methods: vec!["GET".to_owned()],
            max_age_seconds: Some(5),
            ..CORSRule::default()
        };
        assert_eq!(rule_to_s3(rule_from_s3(rule.clone()).unwrap()), rule);
        for change in [
            |rule: &mut CORSRule| rule.allowed_origins.clear(),
            |rule: &mut CORSRule| rule.allowed_methods = vec!["PATCH".to_owned()],
            |rule: &mut CORSRule| rule.allowed_headers = Some(vec!["*x*".to_owned()]),
        ] {
            let mut rule = rule.clone();
            change(&mut rule);
            assert!(rule_from_s3(rule).is_err());
        }
    }
}
