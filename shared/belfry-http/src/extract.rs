//! Path and query parameters, with errors in the shape of [`HttpError`].

use axum::extract::path::ErrorKind;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::error::HttpError;
use crate::problem::read_parameters;

/// The parameters in the path.
#[derive(Debug)]
pub struct InPath<T>(pub T);

/// The parameters in the query.
#[derive(Debug)]
pub struct InQuery<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for InPath<T> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(parameters)) => Ok(Self(parameters)),
            Err(rejection) => Err(HttpError::field("path", problem(&rejection))),
        }
    }
}

fn problem(rejection: &PathRejection) -> String {
    let PathRejection::FailedToDeserializePathParams(failed) = rejection else {
        return "is not the path of this route".to_owned();
    };
    match failed.kind() {
        ErrorKind::InvalidUtf8InPathParam { key } => format!("{key} must be UTF-8"),
        ErrorKind::ParseErrorAtKey { key, .. } | ErrorKind::DeserializeError { key, .. } => {
            format!("{key} is not valid")
        }
        _ => "is not valid".to_owned(),
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for InQuery<T> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        let not_valid = |_| HttpError::field("query", "is not valid");
        let Query(parameters) =
            Query::<Vec<(String, String)>>::from_request_parts(parts, state).await.map_err(not_valid)?;
        read_parameters(&parameters, "query").map(Self).map_err(|detail| HttpError::fields([detail]))
    }
}
