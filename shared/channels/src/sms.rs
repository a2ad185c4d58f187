//! SMS: `SendTextMessage` of AWS End User Messaging, one request. The text is sent unchanged; the template limits its
//! length.

use aws_sdk_pinpointsmsvoicev2::Client;
use aws_sdk_pinpointsmsvoicev2::operation::send_text_message::SendTextMessageError;
use aws_sdk_pinpointsmsvoicev2::types::error::{ConflictException, ValidationException};
use aws_sdk_pinpointsmsvoicev2::types::{ConflictExceptionReason, MessageType, ValidationExceptionReason};
use aws_types::SdkConfig;
use runtime::{BadSetting, Settings};

use crate::aws::{self, Transmission};
use crate::{Address, Outgoing, Reason, SendError};

/// AWS End User Messaging (`pinpoint-sms-voice-v2`).
pub struct EndUserMessaging {
    client: Client,
    origination: String,
}

impl EndUserMessaging {
    /// The name in receipts and logs.
    pub const NAME: &str = "end-user-messaging";

    /// Reads `BELFRY_SMS_ORIGINATION` (a phone number, a sender id, or the id or ARN of a pool), and optionally
    /// `BELFRY_SMS_ENDPOINT_URL`.
    pub fn from_settings(settings: &Settings, aws: &SdkConfig) -> Result<Self, BadSetting> {
        let origination = settings.text("BELFRY_SMS_ORIGINATION")?;
        let client = Client::new(&aws::client_config(settings, aws, "BELFRY_SMS_ENDPOINT_URL")?);
        Ok(Self { client, origination })
    }

    pub(crate) async fn send(&self, outgoing: &Outgoing) -> Result<Option<String>, SendError> {
        let Address::Phone(phone) = &outgoing.to else {
            return Err(Reason::text("address is not a phone number").refused());
        };
        let transmission = Transmission::default();
        let sent = self
            .client
            .send_text_message()
            .destination_phone_number(phone.as_str())
            .origination_identity(&self.origination)
            .message_body(&outgoing.message.body)
            .message_type(MessageType::Transactional)
            .customize()
            .interceptor(transmission.clone())
            .send()
            .await;
        match sent {
            Ok(sent) => Ok(sent.message_id),
            Err(error) => Err(aws::classify(error, &transmission, classify)),
        }
    }
}

/// Classifies the service's own errors; `None` for those that every AWS service has.
fn classify(error: &SendTextMessageError, status: u16) -> Option<SendError> {
    let reason = |word| Reason::http(status, Some(word));
    Some(match error {
        SendTextMessageError::ThrottlingException(_) => reason("ThrottlingException").unavailable(),
        // For example the monthly spend limit: an operator raises it, or the month ends.
        SendTextMessageError::ServiceQuotaExceededException(_) => reason("ServiceQuotaExceededException").unavailable(),
        SendTextMessageError::AccessDeniedException(_) => reason("AccessDeniedException").unavailable(),
        // Our origination identity: nothing else in the request is a resource.
        SendTextMessageError::ResourceNotFoundException(_) => reason("ResourceNotFoundException").unavailable(),
        SendTextMessageError::InternalServerException(_) => reason("InternalServerException").failed(),
        SendTextMessageError::ConflictException(conflict) => classify_conflict(conflict, status),
        SendTextMessageError::ValidationException(invalid) => classify_validation(invalid, status),
        _ => return None,
    })
}

fn classify_conflict(conflict: &ConflictException, status: u16) -> SendError {
    let reason = |word| Reason::http(status, Some(word));
    match &conflict.reason {
        Some(ConflictExceptionReason::DestinationPhoneNumberOptedOut) => {
            reason("DESTINATION_PHONE_NUMBER_OPTED_OUT").address_dead()
        }
        Some(ConflictExceptionReason::DestinationPhoneNumberNotVerified) => {
            reason("DESTINATION_PHONE_NUMBER_NOT_VERIFIED").refused()
        }
        // The identity is being created or changed.
        Some(ConflictExceptionReason::ResourceNotActive) => reason("RESOURCE_NOT_ACTIVE").unavailable(),
        _ => reason("ConflictException").refused(),
    }
}

fn classify_validation(invalid: &ValidationException, status: u16) -> SendError {
    let reason = Reason::http(status, Some("ValidationException"));
    let number = invalid.fields().iter().any(|field| field.name() == "DestinationPhoneNumber");
    match &invalid.reason {
        // Other reasons that name the number, such as a blocked country, are settings of our account and may change.
        Some(ValidationExceptionReason::InvalidParameter) if number => reason.address_dead(),
        _ => reason.refused(),
    }
}
