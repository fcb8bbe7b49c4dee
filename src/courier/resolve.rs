//! Host names, resolved in Rust: the shipped binary is static, and the C library would load whatever the machine has.
//!
//! An address is itself. A name is looked up in `/etc/hosts`, then at the servers of `/etc/resolv.conf`, over UDP. That is all
//! that a server in a network of one's own needs; other sources of names are not asked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use simple_dns::rdata::RData;
use simple_dns::{CLASS, Name, Packet, QCLASS, QTYPE, Question, RCODE, TYPE};

const TIMEOUT: Duration = Duration::from_secs(2);

/// The addresses of a host. Blocks for some seconds at most.
pub(super) fn addresses(host: &str) -> Result<Vec<IpAddr>, String> {
    if let Ok(address) = host.trim_matches(['[', ']']).parse() {
        return Ok(vec![address]);
    }
    let hosts = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
    let mut found = in_hosts(&hosts, host);
    if found.is_empty() && host.eq_ignore_ascii_case("localhost") {
        found = vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    }
    if !found.is_empty() {
        return Ok(found);
    }
    Settings::parse(&std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default()).look_up(host)
}

fn in_hosts(text: &str, host: &str) -> Vec<IpAddr> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let mut found = vec![];
    for line in lines {
        let mut words = line.split_whitespace();
        let Some(address) = words.next().and_then(|word| word.parse().ok()) else { continue };
        if words.any(|name| name.eq_ignore_ascii_case(host)) {
            found.push(address);
        }
    }
    found
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Settings {
    servers: Vec<SocketAddr>,
    search: Vec<String>,
}

impl Settings {
    fn parse(text: &str) -> Self {
        let mut settings = Self::default();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            match words.next() {
                Some("nameserver") => {
                    let address = words.next().and_then(|word| word.parse::<IpAddr>().ok());
                    settings.servers.extend(address.map(|address| SocketAddr::new(address, 53)));
                }
                Some("search" | "domain") => settings.search = words.map(str::to_owned).collect(),
                _ => {}
            }
        }
        settings
    }

    /// A name with a dot is asked as it is first, a name without one in the search domains first.
    fn candidates(&self, host: &str) -> Vec<String> {
        let whole = host.trim_end_matches('.').to_owned();
        let searched = self.search.iter().map(|domain| format!("{whole}.{domain}"));
        match host.contains('.') {
            true => std::iter::once(whole.clone()).chain(searched).collect(),
            false => searched.chain([whole.clone()]).collect(),
        }
    }

    /// Asks the servers, each after the one before it failed.
    fn look_up(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        let mut why = "no name server is known".to_owned();
        for name in self.candidates(host) {
            for server in &self.servers {
                match ask(*server, &name) {
                    Ok(found) if !found.is_empty() => return Ok(found),
                    Ok(_) => {
                        why = "no such host".to_owned();
                        break;
                    }
                    Err(e) => why = format!("{server}: {e}"),
                }
            }
        }
        Err(why)
    }
}

/// Asks one server for addresses of both kinds. None at all is its answer that there is no such host.
fn ask(server: SocketAddr, name: &str) -> Result<Vec<IpAddr>, String> {
    let text = |e: std::io::Error| e.to_string();
    let local: SocketAddr = match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(local).map_err(text)?;
    socket.connect(server).map_err(text)?;
    socket.set_read_timeout(Some(TIMEOUT)).map_err(text)?;
    let mut found = ask_for(TYPE::A, &socket, name)?;
    match ask_for(TYPE::AAAA, &socket, name) {
        Ok(more) => found.extend(more),
        // Some servers do not answer a question for this kind; the addresses of the other are good.
        Err(_) if !found.is_empty() => {}
        Err(why) => return Err(why),
    }
    Ok(found)
}

fn ask_for(kind: TYPE, socket: &UdpSocket, name: &str) -> Result<Vec<IpAddr>, String> {
    let text = |e: std::io::Error| e.to_string();
    let id = u16::try_from(crate::random::number() & 0xffff).unwrap_or_default();
    let name = Name::new(name).map_err(|e| e.to_string())?;
    let mut packet = Packet::new_query(id);
    packet.set_flags(simple_dns::PacketFlag::RECURSION_DESIRED);
    packet.questions.push(Question::new(name, QTYPE::TYPE(kind), QCLASS::CLASS(CLASS::IN), false));
    socket.send(&packet.build_bytes_vec().map_err(|e| e.to_string())?).map_err(text)?;
    let mut bytes = [0; 4096];
    let length = socket.recv(&mut bytes).map_err(text)?;
    let answer = Packet::parse(&bytes[..length]).map_err(|e| e.to_string())?;
    if answer.id() != id {
        return Err("the answer is to another question".to_owned());
    }
    match answer.rcode() {
        RCODE::NoError | RCODE::NameError => {}
        code => return Err(format!("it did not answer the question: {code:?}")),
    }
    let address = |record: &simple_dns::ResourceRecord<'_>| match &record.rdata {
        RData::A(a) => Some(IpAddr::V4(Ipv4Addr::from(a.address))),
        RData::AAAA(aaaa) => Some(IpAddr::V6(Ipv6Addr::from(aaaa.address))),
        _ => None,
    };
    Ok(answer.answers.iter().filter_map(address).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_hosts_need_no_server() {
        assert_eq!(addresses("192.0.2.7").unwrap(), [IpAddr::from([192, 0, 2, 7])]);
        assert_eq!(addresses("[::1]").unwrap(), [IpAddr::V6(Ipv6Addr::LOCALHOST)]);
        let hosts = "127.0.0.1 localhost # me\n192.0.2.1\tmail.example Mail\n::2 mail\nbroken\n";
        assert_eq!(in_hosts(hosts, "mail").len(), 2);
        assert_eq!(in_hosts(hosts, "me"), [] as [IpAddr; 0]);
    }

    #[test]
    fn search_domains_come_first_for_a_plain_name() {
        let settings =
            Settings::parse("# x\nnameserver 192.0.2.53\nnameserver bad\nsearch lan example.org\n");
        assert_eq!(settings.servers, [SocketAddr::from(([192, 0, 2, 53], 53))]);
        assert_eq!(settings.candidates("nats"), ["nats.lan", "nats.example.org", "nats"]);
        assert_eq!(settings.candidates("nats.example.org.")[0], "nats.example.org");
    }

    /// A name server of this test, and what it does with each question: code and answer, or nothing.
    fn server(
        replies: Vec<Option<(RCODE, Option<RData<'static>>)>>,
    ) -> (SocketAddr, std::thread::JoinHandle<()>) {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let at = server.local_addr().unwrap();
        let answering = std::thread::spawn(move || {
            for reply in replies {
                let mut bytes = [0; 512];
                let (length, from) = server.recv_from(&mut bytes).unwrap();
                let Some((code, address)) = reply else { continue };
                let asked = Packet::parse(&bytes[..length]).unwrap();
                let mut packet = Packet::new_reply(asked.id());
                *packet.rcode_mut() = code;
                let name = asked.questions[0].qname.clone();
                packet.questions = asked.questions;
                packet.answers.extend(
                    address.map(|address| simple_dns::ResourceRecord::new(name, CLASS::IN, 60, address)),
                );
                server.send_to(&packet.build_bytes_vec().unwrap(), from).unwrap();
            }
        });
        (at, answering)
    }

    const HOST: [u8; 4] = [192, 0, 2, 7];

    fn a() -> Option<(RCODE, Option<RData<'static>>)> {
        Some((RCODE::NoError, Some(RData::A(simple_dns::rdata::A { address: u32::from_be_bytes(HOST) }))))
    }

    #[test]
    fn a_name_server_is_asked() {
        let aaaa = Some((RCODE::NoError, Some(RData::AAAA(simple_dns::rdata::AAAA { address: 1 }))));
        let (at, answering) = server(vec![a(), aaaa]);
        let found = ask(at, "mail.example").unwrap();
        answering.join().unwrap();
        assert_eq!(found, [IpAddr::from(HOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]);
    }

    #[test]
    fn a_question_without_an_answer_discards_no_address() {
        let (silent, first) = server(vec![a(), None]);
        let (failing, second) = server(vec![a(), Some((RCODE::ServerFailure, None))]);
        for at in [silent, failing] {
            assert_eq!(ask(at, "mail.example").unwrap(), [IpAddr::from(HOST)]);
        }
        first.join().unwrap();
        second.join().unwrap();
    }

    #[test]
    fn the_next_server_is_asked_when_one_fails_and_not_when_it_knows_no_such_host() {
        let (failing, first) = server(vec![Some((RCODE::ServerFailure, None))]);
        let (knowing, second) = server(vec![a(), Some((RCODE::NoError, None))]);
        let settings = Settings { servers: vec![failing, knowing], search: vec![] };
        assert_eq!(settings.look_up("mail.example").unwrap(), [IpAddr::from(HOST)]);
        first.join().unwrap();
        second.join().unwrap();
        let none = || Some((RCODE::NameError, None));
        let (denying, third) = server(vec![none(), none()]);
        // Nothing answers at its own address any more.
        let settings = Settings { servers: vec![denying, knowing], search: vec![] };
        assert_eq!(settings.look_up("mail.example").unwrap_err(), "no such host");
        third.join().unwrap();
        let (failing, fourth) = server(vec![Some((RCODE::Refused, None))]);
        let why = Settings { servers: vec![failing], search: vec![] }.look_up("mail.example").unwrap_err();
        assert!(why.contains("Refused"), "{why}");
        fourth.join().unwrap();
    }
}
