//! SMS: `SendTextMessage` of AWS End User Messaging, one request. The text goes out as it comes; cutting it to length is
//! the template's affair.

use aws_sdk_pinpointsmsvoicev2::operation::send_text_message::SendTextMessageError;
use aws_sdk_pinpointsmsvoicev2::types::error::{ConflictException, ValidationException};
use aws_sdk_pinpointsmsvoicev2::types::{ConflictExceptionReason, MessageType, ValidationExceptionReason};
use aws_sdk_pinpointsmsvoicev2::{Client, config};
use aws_types::SdkConfig;
use outside::{endpoint, time_limit};
use runtime::{BadSetting, Pool, Settings};

use crate::aws::{self, Departure};
use crate::{Address, NotSent, Outgoing, Reason};

/// AWS End User Messaging (`pinpoint-sms-voice-v2`).
pub struct EndUserMessaging {
    client: Client,
    origination: String,
}

impl EndUserMessaging {
    /// The name in receipts.
    pub const NAME: &str = "end-user-messaging";

    /// `BELFRY_SMS_ORIGINATION`: a phone number, a sender id, or the id or ARN of a pool. `BELFRY_SMS_ENDPOINT_URL`, if
    /// it is not AWS's.
    pub fn from_settings(settings: &Settings, aws: &SdkConfig) -> Result<Self, BadSetting> {
        let origination = settings.text("BELFRY_SMS_ORIGINATION")?;
        let mut config = config::Builder::from(aws)
            .retry_config(aws::never_again())
            .timeout_config(aws::within(time_limit(settings)?))
            .stalled_stream_protection(aws::no_other_limit())
            .http_client(runtime::http_client(settings, Pool::None)?);
        if let Some(url) = endpoint(settings, "BELFRY_SMS_ENDPOINT_URL")? {
            config = config.endpoint_url(url);
        }
        Ok(Self { client: Client::from_conf(config.build()), origination })
    }

    pub(crate) async fn send(&self, outgoing: &Outgoing) -> Result<Option<String>, NotSent> {
        let Address::Phone(phone) = &outgoing.to else {
            return Err(Reason::word("not a phone number").refused());
        };
        let departure = Departure::default();
        let sent = self
            .client
            .send_text_message()
            .destination_phone_number(phone.as_str())
            .origination_identity(&self.origination)
            .message_body(&outgoing.message.body)
            .message_type(MessageType::Transactional)
            .customize()
            .interceptor(departure.clone())
            .send()
            .await;
        match sent {
            Ok(sent) => Ok(sent.message_id),
            Err(error) => Err(aws::sorted(error, &departure, sorted)),
        }
    }
}

/// What the service's own errors mean; `None` for those that every AWS service has.
fn sorted(error: &SendTextMessageError, status: u16) -> Option<NotSent> {
    let reason = |word| Reason::http(status, Some(word));
    Some(match error {
        SendTextMessageError::ThrottlingException(_) => reason("ThrottlingException").unavailable(),
        // The month's spend limit, for one: an operator raises it, or the month ends.
        SendTextMessageError::ServiceQuotaExceededException(_) => reason("ServiceQuotaExceededException").unavailable(),
        SendTextMessageError::AccessDeniedException(_) => reason("AccessDeniedException").unavailable(),
        // Our origination identity, since nothing else in the request is looked up.
        SendTextMessageError::ResourceNotFoundException(_) => reason("ResourceNotFoundException").unavailable(),
        SendTextMessageError::InternalServerException(_) => reason("InternalServerException").failed(),
        SendTextMessageError::ConflictException(conflict) => conflicting(conflict, status),
        SendTextMessageError::ValidationException(invalid) => invalid_request(invalid, status),
        _ => return None,
    })
}

fn conflicting(conflict: &ConflictException, status: u16) -> NotSent {
    let reason = |word| Reason::http(status, Some(word));
    match &conflict.reason {
        Some(ConflictExceptionReason::DestinationPhoneNumberOptedOut) => {
            reason("DESTINATION_PHONE_NUMBER_OPTED_OUT").address_dead()
        }
        Some(ConflictExceptionReason::DestinationPhoneNumberNotVerified) => {
            reason("DESTINATION_PHONE_NUMBER_NOT_VERIFIED").refused()
        }
        // The identity is being set up, or changed by somebody.
        Some(ConflictExceptionReason::ResourceNotActive) => reason("RESOURCE_NOT_ACTIVE").unavailable(),
        _ => reason("ConflictException").refused(),
    }
}

fn invalid_request(invalid: &ValidationException, status: u16) -> NotSent {
    let reason = Reason::http(status, Some("ValidationException"));
    let number = invalid.fields().iter().any(|field| field.name() == "DestinationPhoneNumber");
    match &invalid.reason {
        // Other reasons that name the number, such as a country that is blocked, are our account's and may pass.
        Some(ValidationExceptionReason::InvalidParameter) if number => reason.address_dead(),
        _ => reason.refused(),
    }
}
