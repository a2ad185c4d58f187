"""A mail server that takes mail like any other, and misbehaves for some addressees.

Prints its port, then each mail that it took, as one line of JSON.
"""

import argparse
import asyncio
import email
import json
import logging
import ssl
import warnings
from email import policy

from aiosmtpd.smtp import SMTP, AuthResult

# aiosmtpd does not like passwords without TLS, and says so.
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

REFUSED_AT_RCPT = {
    "nobody": "550 5.1.1 <{}>: no such user",
    "unwanted": "550 5.7.1 <{}>: relaying denied",
    "full": "452 4.2.2 <{}>: mailbox full",
    "leaving": "421 4.3.2 <{}>: shutting down",
}
REFUSED_AFTER_DATA = {
    "picky": "554 5.6.0 {} does not like this",
    "grey": "451 4.7.1 {} is to be tried later",
    "tired": "421 4.3.2 shutting down before {}",
}


class Relay:
    async def handle_RCPT(self, server, session, envelope, address, options):
        name = address.split("@")[0]
        if name == "deaf":
            await asyncio.Event().wait()
        if name in REFUSED_AT_RCPT:
            return REFUSED_AT_RCPT[name].format(address)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        name = envelope.rcpt_tos[0].split("@")[0]
        if name in REFUSED_AFTER_DATA:
            return REFUSED_AFTER_DATA[name].format(envelope.rcpt_tos[0])
        print(json.dumps(shown(server, session, envelope)))
        if name == "silent":
            await asyncio.Event().wait()
        if name == "cut":
            server.transport.abort()
        return "250 OK"


def shown(server, session, envelope):
    raw = envelope.original_content.decode()
    mail = email.message_from_string(raw, policy=policy.default)
    part = lambda kind: (body := mail.get_body([kind])) and body.get_content()
    return {
        "to": envelope.rcpt_tos,
        "sender": envelope.mail_from,
        "headers": dict(mail.items()),
        "text": part("plain"),
        "html": part("html"),
        "raw": raw,
        "tls": server.transport.get_extra_info("sslcontext") is not None,
        "login": session.auth_data and session.auth_data.decode(),
    }


async def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--tls", choices=["from-the-start", "starttls"])
    arguments.add_argument("--certificate")
    arguments.add_argument("--key")
    arguments.add_argument("--login", nargs=2)
    given = arguments.parse_args()

    context = None
    if given.tls:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(given.certificate, given.key)

    def authenticate(server, session, envelope, mechanism, data):
        right = given.login and [data.login.decode(), data.password.decode()] == given.login
        return AuthResult(success=bool(right), handled=False, auth_data=data.login)

    def relay():
        return SMTP(
            Relay(),
            enable_SMTPUTF8=True,
            tls_context=context if given.tls == "starttls" else None,
            require_starttls=given.tls == "starttls",
            authenticator=authenticate,
            auth_required=given.login is not None,
            auth_require_tls=False,
        )

    implicit = context if given.tls == "from-the-start" else None
    server = await asyncio.get_running_loop().create_server(relay, "127.0.0.1", 0, ssl=implicit)
    print(server.sockets[0].getsockname()[1])
    await server.serve_forever()


asyncio.run(main())
