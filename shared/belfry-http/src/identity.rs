//! Who calls: what the gateway's authorizer left in the extensions of a request.

use std::collections::HashMap;

use axum::http::Extensions;
use belfry_aws::Caller;
use lambda_http::aws_lambda_events::apigw::ApiGatewayV2httpRequestContext;
use lambda_http::request::RequestContext;

/// How an application knows who calls. [`context`](crate::context) reads it once per request, and leaves it and its
/// [`Caller`] in the request's extensions.
///
/// ```
/// use belfry_http::axum::http::Extensions;
/// use belfry_http::belfry_aws::Caller;
/// use belfry_http::{Identity, jwt_claims};
///
/// #[derive(Clone)]
/// struct Librarian {
///     caller: Caller,
///     branch: Option<String>,
/// }
///
/// impl Identity for Librarian {
///     fn read(extensions: &Extensions) -> Option<Self> {
///         let claims = jwt_claims(extensions)?;
///         let caller = Caller { issuer: claims.get("iss")?.clone(), subject: claims.get("sub")?.clone() };
///         Some(Self { caller, branch: claims.get("branch").cloned() })
///     }
///
///     fn caller(&self) -> &Caller {
///         &self.caller
///     }
/// }
/// ```
pub trait Identity: Clone + Send + Sync + 'static {
    /// Reads who calls; `None` if nobody is known to.
    fn read(extensions: &Extensions) -> Option<Self>;

    /// The owner of the idempotency keys.
    fn caller(&self) -> &Caller;
}

/// The issuer and subject of the token that API Gateway's JWT authorizer has checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JwtCaller(pub Caller);

impl JwtCaller {
    /// The caller of these claims, if they have a subject.
    pub fn of(claims: &HashMap<String, String>) -> Option<Self> {
        let subject = claims.get("sub").filter(|subject| !subject.is_empty())?.clone();
        Some(Self(Caller { issuer: claims.get("iss").cloned().unwrap_or_default(), subject }))
    }
}

impl Identity for JwtCaller {
    fn read(extensions: &Extensions) -> Option<Self> {
        Self::of(jwt_claims(extensions)?)
    }

    fn caller(&self) -> &Caller {
        &self.0
    }
}

/// The claims of the token that API Gateway's JWT authorizer has checked. Every value is text; lists look like `[a b]`.
pub fn jwt_claims(extensions: &Extensions) -> Option<&HashMap<String, String>> {
    Some(&gateway(extensions)?.authorizer.as_ref()?.jwt.as_ref()?.claims)
}

/// The id that API Gateway gave the request.
pub fn request_id(extensions: &Extensions) -> Option<String> {
    gateway(extensions)?.request_id.clone()
}

fn gateway(extensions: &Extensions) -> Option<&ApiGatewayV2httpRequestContext> {
    match extensions.get::<RequestContext>() {
        Some(RequestContext::ApiGatewayV2(context)) => Some(context),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_without_a_subject_are_nobody() {
        let claims = |subject: &str| HashMap::from([("sub".to_owned(), subject.to_owned())]);
        assert_eq!(JwtCaller::of(&claims("")), None);
        let ada = JwtCaller(Caller { issuer: String::new(), subject: "ada".to_owned() });
        assert_eq!(JwtCaller::of(&claims("ada")), Some(ada));
    }
}
