//! Files from web servers.

use super::*;

/// Answers requests with what `answer` makes of their paths, one connection after the other.
fn web_server(answer: impl Fn(&str) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind((LOCALHOST, 0)).unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && socket.read(&mut byte).unwrap_or(0) == 1 {
                request.push(byte[0]);
            }
            let text = String::from_utf8(request).unwrap();
            let answer = answer(text.split(' ').nth(1).unwrap_or_default());
            let _ = socket.write_all(answer.as_bytes());
            if answer.contains("stall") {
                // Nothing more comes, and the connection stays open.
                let _ = socket.read(&mut byte);
            }
        }
    });
    base
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_come_from_web_servers() {
    let place = Place::new(&[("spark.files.fetchTimeout", "1s")], &[]);
    let base = web_server(|path| {
        match path {
        "/ok.txt?v=1" => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".to_owned(),
        "/moved.txt" => "HTTP/1.1 302 Found\r\nLocation: /ok.txt?v=1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned(),
        "/short.txt" => "HTTP/1.1 200 OK\r\nContent-Length: 50\r\nConnection: close\r\n\r\nhello".to_owned(),
        "/stall.txt" => "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nstall".to_owned(),
        "/500.txt" => "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n".to_owned(),
        _ => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(),
    }
    });
    let url = |name: &str| format!("{base}/{name}");
    let one = |name: &str| files(&[(url(name), 1)]);
    place.update(&one("ok.txt?v=1")).await.unwrap();
    place.update(&one("moved.txt")).await.unwrap();
    assert_eq!(
        (place.read("ok.txt"), place.read("moved.txt")),
        ("hello".into(), "hello".into())
    );

    let error = exception(place.update(&one("none.txt")).await);
    assert_eq!(
        (error.class_name.as_str(), error.message),
        ("java.io.FileNotFoundException", url("none.txt"))
    );
    let error = exception(place.update(&one("500.txt")).await);
    assert_eq!(
        error.message,
        format!(
            "Server returned HTTP response code: 500 for URL: {}",
            url("500.txt")
        )
    );
    let error = exception(place.update(&one("short.txt")).await);
    assert_eq!(error.class_name, "java.io.IOException");
    let begun = Instant::now();
    let error = exception(place.update(&one("stall.txt")).await);
    assert_eq!(
        (error.class_name.as_str(), error.message.as_str()),
        ("java.net.SocketTimeoutException", "Read timed out")
    );
    assert!(begun.elapsed() >= Duration::from_millis(900));
    assert_eq!(place.names(), ["moved.txt", "ok.txt"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_from_the_web_ends_with_its_task() {
    let place = Place::new(&[], &[]);
    let base = web_server(|_| "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nstall".to_owned());
    let switch = Cancellation::default();
    let stop = switch.clone();
    let begun = Instant::now();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(200)).await;
        stop.cancel("enough");
    });
    let done = place
        .dependencies
        .update(&files(&[(format!("{base}/x"), 1)]), &switch)
        .await;
    assert_eq!(done, Err(TaskError::Killed("enough".into())));
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert!(place.names().is_empty());
}
