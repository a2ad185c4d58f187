//! The caller: the claims that the authorizer left in the request context.
//!
//! API Gateway hands over every claim as text, and lists as `[a b]`; a scope claim is text with spaces.

use std::collections::{BTreeSet, HashMap};
use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use axum::http::Extensions;
use axum::http::request::Parts;
use belfry_http::{Identity, JwtCaller, jwt_claims};
use domain::id::Line;
use domain::{Audience, UserId};

use super::error::{ApiError, Code};

/// Who calls, and what they may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Issuer and subject: the owner of idempotency keys.
    pub identity: domain::Caller,
    /// Which kind of user, where the token says so.
    pub user_type: Option<Audience>,
    /// What people call the caller, where the token says so.
    pub name: Option<Line>,
    scopes: BTreeSet<String>,
}

/// What a token may allow beyond acting for oneself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Grant, revoke and command on behalf of others.
    CommandsWrite,
    /// Hand events in.
    EventsWrite,
    /// Maintain recipients.
    RecipientsWrite,
    /// See and steer everything.
    Operate,
}

impl Scope {
    /// The scope's name in a token.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CommandsWrite => "commands:write",
            Self::EventsWrite => "events:write",
            Self::RecipientsWrite => "recipients:write",
            Self::Operate => "operate",
        }
    }
}

/// A caller whose token carries the scope. As the first extractor of a handler it refuses before anything else of the
/// request is looked at.
#[derive(Debug)]
pub struct Allowed<S> {
    /// Who calls.
    pub caller: Caller,
    scope: PhantomData<S>,
}

/// A scope as a type.
pub trait Needs {
    /// The scope.
    const SCOPE: Scope;
}

/// Needs `commands:write`.
#[derive(Debug)]
pub struct CommandsWrite;
/// Needs `events:write`.
#[derive(Debug)]
pub struct EventsWrite;
/// Needs `recipients:write`.
#[derive(Debug)]
pub struct RecipientsWrite;
/// Needs `operate`.
#[derive(Debug)]
pub struct Operate;

impl Needs for CommandsWrite {
    const SCOPE: Scope = Scope::CommandsWrite;
}

impl Needs for EventsWrite {
    const SCOPE: Scope = Scope::EventsWrite;
}

impl Needs for RecipientsWrite {
    const SCOPE: Scope = Scope::RecipientsWrite;
}

impl Needs for Operate {
    const SCOPE: Scope = Scope::Operate;
}

impl<N: Needs, S: Sync> FromRequestParts<S> for Allowed<N> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, state).await?;
        if caller.may(N::SCOPE) {
            return Ok(Self { caller, scope: PhantomData });
        }
        Err(ApiError::new(Code::Forbidden, format!("the scope {} is missing", N::SCOPE.as_str())))
    }
}

impl Caller {
    /// Whether the token carries the scope.
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(scope.as_str())
    }

    /// Whether the caller is this user.
    pub fn is(&self, user_type: Audience, user_id: &UserId) -> bool {
        self.user_type == Some(user_type) && self.identity.subject == user_id.as_str()
    }

    /// The caller as a user with an inbox.
    pub fn as_user(&self) -> Result<(Audience, UserId), ApiError> {
        let forbidden = |problem: &str| ApiError::new(Code::Forbidden, format!("the token's {problem}"));
        let user_type = self.user_type.ok_or_else(|| forbidden("user_type names no kind of user"))?;
        let user_id = UserId::parse(self.identity.subject.clone()).map_err(|_| forbidden("sub cannot be a user id"))?;
        Ok((user_type, user_id))
    }

    fn from_claims(claims: &HashMap<String, String>) -> Option<Self> {
        let JwtCaller(identity) = JwtCaller::of(claims)?;
        let scopes = claims.get("scope").or_else(|| claims.get("scp")).map_or("", String::as_str);
        let scopes =
            scopes.trim_start_matches('[').trim_end_matches(']').split([' ', ',']).filter(|scope| !scope.is_empty());
        Some(Self {
            identity,
            user_type: claims.get("user_type").and_then(|user_type| user_type.parse().ok()),
            name: claims.get("name").and_then(|name| Line::parse(name.as_str()).ok()),
            scopes: scopes.map(str::to_owned).collect(),
        })
    }
}

impl Identity for Caller {
    fn read(extensions: &Extensions) -> Option<Self> {
        Self::from_claims(jwt_claims(extensions)?)
    }

    fn caller(&self) -> &domain::Caller {
        &self.identity
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let caller = parts.extensions.get::<Self>().cloned();
        caller.ok_or_else(|| ApiError::new(Code::Unauthenticated, "no valid token"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(scope: &str) -> HashMap<String, String> {
        [("iss", "https://issuer"), ("sub", "u-1"), ("user_type", "CUSTOMER"), ("scope", scope)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into()
    }

    #[test]
    fn scopes_come_as_text_or_as_api_gateways_lists() {
        for scope in ["operate commands:write", "[operate commands:write]"] {
            let caller = Caller::from_claims(&claims(scope)).expect("a caller");
            assert!(caller.may(Scope::Operate) && caller.may(Scope::CommandsWrite));
            assert!(!caller.may(Scope::RecipientsWrite));
        }
    }

    #[test]
    fn a_caller_is_only_the_user_of_their_own_kind() {
        let caller = Caller::from_claims(&claims("")).expect("a caller");
        let user = UserId::parse("u-1").expect("an id");
        assert!(caller.is(Audience::Customer, &user));
        assert!(!caller.is(Audience::AdminUser, &user));
        assert!(!caller.may(Scope::Operate));
    }

    #[test]
    fn claims_without_a_subject_are_nobody() {
        let mut claims = claims("");
        claims.insert("sub".to_owned(), String::new());
        assert_eq!(Caller::from_claims(&claims), None);
    }
}
