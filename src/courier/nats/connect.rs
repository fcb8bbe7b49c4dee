//! The connection to a server: its address, the credentials of the person, TLS.
//!
//! Names are resolved here, so the client gets addresses. The certificate of the server is still compared with the name that
//! the person gave.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_nats::rustls::client::WebPkiServerVerifier;
use async_nats::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use async_nats::rustls::crypto::ring;
use async_nats::rustls::pki_types::pem::PemObject;
use async_nats::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use async_nats::rustls::{
    ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme,
};
use async_nats::{Client, ConnectOptions, Event};
use tokio::sync::mpsc;

use super::super::member::{Member, Secret};
use super::super::{Error, Result, resolve, subjects};

/// How often an idle connection is checked. Two checks without an answer end it.
const PING: Duration = Duration::from_secs(20);
const CONNECT: Duration = Duration::from_secs(5);
const PORT: u16 = 4222;
/// Where systems keep the certificates of public authorities.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUrl {
    pub host: String,
    pub port: u16,
    pub tls: bool,
}

impl ServerUrl {
    /// Reads `nats://HOST[:PORT]` or `tls://HOST[:PORT]`.
    pub fn parse(url: &str) -> Result<Self> {
        let wrong =
            |why: &str| Error::Url { url: crate::message::visible::clip(url, 200), why: why.to_owned() };
        let (scheme, rest) = url.split_once("://").unwrap_or(("nats", url));
        let tls = match scheme {
            "nats" => false,
            "tls" => true,
            _ => return Err(wrong("it begins with neither nats:// nor tls://")),
        };
        if rest.contains('@') {
            let url = format!("{scheme}://…");
            return Err(Error::Url { url, why: "a password belongs in a file: --user-file FILE".to_owned() });
        }
        let rest = rest.trim_end_matches('/');
        let (host, port) =
            match rest.rsplit_once(':').filter(|(host, _)| !host.contains(':') || host.ends_with(']')) {
                Some((host, port)) => (host, port.parse().map_err(|_| wrong("its port is not a number"))?),
                None => (rest, PORT),
            };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']' | '_');
        if host.is_empty() || !host.chars().all(is_plain) {
            return Err(wrong("it has no host name"));
        }
        Ok(Self { host: host.to_owned(), port, tls })
    }

    /// Its addresses, as the client takes them.
    fn addresses(&self) -> std::result::Result<Vec<String>, String> {
        let scheme = if self.tls { "tls" } else { "nats" };
        let found = resolve::addresses(&self.host)?;
        Ok(found
            .iter()
            .map(|ip| format!("{scheme}://{}", std::net::SocketAddr::new(*ip, self.port)))
            .collect())
    }
}

/// Connects. Events of the connection come through the channel.
pub(super) async fn connect(member: &Member) -> Result<(Client, mpsc::UnboundedReceiver<Event>)> {
    let url = ServerUrl::parse(&member.url)?;
    let server = format!("{}:{}", url.host, url.port);
    let unreachable = |why: String| Error::Unreachable { server: server.clone(), why };
    let asked = url.clone();
    let addresses = tokio::task::spawn_blocking(move || asked.addresses()).await;
    let addresses = addresses.map_err(|e| unreachable(e.to_string()))?.map_err(unreachable)?;
    let (send, events) = mpsc::unbounded_channel();
    let options = options(member, &url)?.event_callback(move |event| {
        let _ = send.send(event);
        async {}
    });
    let connected = options.connect(addresses).await;
    Ok((connected.map_err(|e| unreachable(e.to_string()))?, events))
}

fn options(member: &Member, url: &ServerUrl) -> Result<ConnectOptions> {
    let bad = |secret: &str, why: String| Error::Settings { path: secret.to_owned(), why };
    let text = |secret: Secret, name: &str| -> Result<Option<String>> {
        let bytes = member.secret(secret)?;
        bytes
            .map(|bytes| String::from_utf8(bytes).map_err(|_| bad(name, "it is not text".to_owned())))
            .transpose()
    };
    let mut options = ConnectOptions::new()
        .name(format!("postroom {}", member.room))
        .ping_interval(PING)
        .connection_timeout(CONNECT)
        .custom_inbox_prefix(subjects::inbox(&member.network, member.room.as_str()))
        .ignore_discovered_servers()
        .max_reconnects(1);
    if let Some(creds) = text(Secret::Creds, "creds")? {
        options = options.credentials(&creds).map_err(|e| bad("creds", e.to_string()))?;
    } else if let Some(seed) = text(Secret::Nkey, "nkey")? {
        options = options.nkey(seed.trim().to_owned());
    } else if let Some(user) = text(Secret::User, "user")? {
        let mut lines = user.lines();
        let (Some(name), Some(password)) = (lines.next(), lines.next()) else {
            return Err(bad("user", "it has no two lines: a user and a password".to_owned()));
        };
        options = options.user_and_password(name.to_owned(), password.to_owned());
    }
    if url.tls || member.secret(Secret::Ca)?.is_some() || member.secret(Secret::Certificate)?.is_some() {
        options = options.require_tls(true).tls_client_config(tls(member, &url.host)?);
    }
    Ok(options)
}

fn tls(member: &Member, host: &str) -> Result<ClientConfig> {
    let bad = |what: &str, why: String| Error::Settings { path: what.to_owned(), why };
    let mut roots = RootCertStore::empty();
    match member.secret(Secret::Ca)? {
        Some(pem) => {
            for certificate in certificates(&pem).map_err(|e| bad("ca.pem", e))? {
                roots.add(certificate).map_err(|e| bad("ca.pem", e.to_string()))?;
            }
        }
        None => {
            let found = BUNDLES.iter().map(PathBuf::from).find_map(|path| std::fs::read(path).ok());
            roots.add_parsable_certificates(certificates(&found.unwrap_or_default()).unwrap_or_default());
        }
    }
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
        .build()
        .map_err(|e| bad("ca.pem", e.to_string()))?;
    let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())
        .map_err(|e| bad("the host name", e.to_string()))?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| bad("TLS", e.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(ByName { verifier, name }));
    let (Some(certificate), Some(key)) =
        (member.secret(Secret::Certificate)?, member.secret(Secret::PrivateKey)?)
    else {
        return Ok(builder.with_no_client_auth());
    };
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|e| bad("key.pem", e.to_string()))?;
    let chain = certificates(&certificate).map_err(|e| bad("cert.pem", e))?;
    builder.with_client_auth_cert(chain, key).map_err(|e| bad("cert.pem", e.to_string()))
}

fn certificates(pem: &[u8]) -> std::result::Result<Vec<CertificateDer<'static>>, String> {
    CertificateDer::pem_slice_iter(pem).collect::<std::result::Result<_, _>>().map_err(|e| e.to_string())
}

/// Compares the certificate with the name that the person gave, because the client connects to an address.
#[derive(Debug)]
struct ByName {
    verifier: Arc<WebPkiServerVerifier>,
    name: ServerName<'static>,
}

impl ServerCertVerifier for ByName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _address: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, TlsError> {
        self.verifier.verify_server_cert(end_entity, intermediates, &self.name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, TlsError> {
        self.verifier.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, TlsError> {
        self.verifier.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_host_and_never_a_password() {
        let parse = |url: &str| ServerUrl::parse(url).map(|url| (url.host, url.port, url.tls));
        assert_eq!(parse("nats://mail.example").unwrap(), ("mail.example".into(), 4222, false));
        assert_eq!(parse("tls://mail.example:4443/").unwrap(), ("mail.example".into(), 4443, true));
        assert_eq!(parse("nats://[::1]:4222").unwrap(), ("[::1]".into(), 4222, false));
        for wrong in ["", "http://x", "nats://", "nats://x:y", "nats://a b", "nats://me:secret@x"] {
            let e = parse(wrong).unwrap_err().to_string();
            assert!(!e.contains("secret"), "{e}");
        }
    }
}
