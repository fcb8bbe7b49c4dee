//! Names: by what browsers may call this server. A request is answered only under such a name, and acts only from a page of it.
//!
//! A plain name or address has the port of this server and is not encrypted. An *origin*, such as `https://mail.example`, is
//! what a browser sees of a proxy before this server, with the port that is usual for it or another one.

use std::net::IpAddr;
use std::str::FromStr;

/// A name that was given, before the port of the server is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    Host(String),
    Origin(Origin),
}

/// An origin as browsers write it: a scheme, a host, and a port that is not the usual one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Such as `https://`.
    scheme: &'static str,
    /// What the header `Host` has.
    host: String,
}

impl Origin {
    /// Whether a header `Host` names it.
    pub(super) fn has_host(&self, host: &str) -> bool {
        self.host == host
    }

    /// Whether a header `Origin` names it.
    pub(super) fn is(&self, origin: &str) -> bool {
        origin.strip_prefix(self.scheme).is_some_and(|host| self.has_host(host))
    }

    /// The address of its front page, without a slash at the end.
    pub fn url(&self) -> String {
        format!("{}{}", self.scheme, self.host)
    }
}

impl Name {
    /// The names of loopback.
    pub(super) fn loopback() -> [Self; 3] {
        ["127.0.0.1", "[::1]", "localhost"].map(|host| Self::Host(host.to_owned()))
    }

    /// An address at which this server listens.
    pub fn of(address: IpAddr) -> Self {
        Self::Host(match address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        })
    }

    /// What a browser sees of a server at a port.
    pub fn origin(&self, port: u16) -> Origin {
        match self {
            Self::Host(host) => Origin { scheme: "http://", host: format!("{host}:{port}") },
            Self::Origin(origin) => origin.clone(),
        }
    }
}

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is neither a host name nor an origin such as https://mail.example");
        let lower = text.to_ascii_lowercase();
        let schemes = [("https://", ":443"), ("http://", ":80")];
        let found = schemes
            .into_iter()
            .find_map(|(scheme, usual)| Some((scheme, usual, lower.strip_prefix(scheme)?)));
        let is_plain = |host: &str| {
            !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._:[]".contains(&b))
        };
        match found {
            Some((scheme, usual, rest)) => {
                let host = rest.strip_suffix('/').unwrap_or(rest);
                // Browsers leave out the usual port.
                let host = host.strip_suffix(usual).unwrap_or(host);
                is_plain(host)
                    .then(|| Self::Origin(Origin { scheme, host: host.to_owned() }))
                    .ok_or_else(wrong)
            }
            None => match lower.parse::<IpAddr>() {
                Ok(address) => Ok(Self::of(address)),
                Err(_) if lower.starts_with('[') && lower.ends_with(']') && is_plain(&lower) => {
                    Ok(Self::Host(lower))
                }
                Err(_) if is_plain(&lower) && !lower.contains([':', '[', ']']) => Ok(Self::Host(lower)),
                Err(_) => Err(wrong()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_port_of_the_server_and_an_origin_its_own() {
        let url = |text: &str| text.parse::<Name>().unwrap().origin(8026).url();
        assert_eq!(url("Mail.Example"), "http://mail.example:8026");
        assert_eq!(url("192.0.2.7"), "http://192.0.2.7:8026");
        assert_eq!(
            (url("2001:db8::7"), url("[::1]")),
            ("http://[2001:db8::7]:8026".into(), "http://[::1]:8026".into())
        );
        assert_eq!(url("https://mail.example"), "https://mail.example");
        assert_eq!(url("https://mail.example:443/"), "https://mail.example");
        assert_eq!(url("http://mail.example:8080"), "http://mail.example:8080");
        for wrong in [
            "",
            "a b",
            "mail.example:8026",
            "https://",
            "https://a/b",
            "https://a@b",
            "ftp://a",
            "a/b",
            "a,b",
        ] {
            assert!(wrong.parse::<Name>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_origin_is_compared_exactly() {
        let origin = "https://mail.example".parse::<Name>().unwrap().origin(8026);
        assert!(origin.has_host("mail.example") && origin.is("https://mail.example"));
        for wrong in [
            "http://mail.example",
            "https://mail.example:8026",
            "https://mail.example.evil",
            "null",
            "mail.example",
        ] {
            assert!(!origin.is(wrong), "{wrong}");
        }
        assert!(!origin.has_host("mail.example:8026"));
    }
}
