//! A provider's endpoint of the widespread form: POST {model, input} → {data: [{index, embedding}]}.

use super::{BATCH, EmbedError, Embedder, normalise};
use serde_json::{Value, json};

/// Sends a JSON document to an address and gives the answer back. The caller knows proxies, keys and time limits.
pub type PostJson = Box<dyn Fn(&str, &Value) -> Result<Value, String> + Send + Sync>;

/// More dimensions are no embedding.
const MOST_DIMENSIONS: usize = 8192;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointSettings {
    /// The whole address, e.g. `https://api.example.com/v1/embeddings`.
    pub url: String,
    pub model: String,
}

pub struct HttpEmbedder {
    settings: EndpointSettings,
    name: String,
    post: PostJson,
}

impl HttpEmbedder {
    pub fn new(settings: EndpointSettings, post: PostJson) -> Self {
        let name = format!("{}@{}", settings.model, settings.url);
        HttpEmbedder { settings, name, post }
    }

    fn failed(&self, why: impl Into<String>) -> EmbedError {
        EmbedError::Endpoint { url: self.settings.url.clone(), why: why.into() }
    }
}

impl Embedder for HttpEmbedder {
    fn name(&self) -> &str {
        &self.name
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut all = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            let body = json!({"model": self.settings.model, "input": batch});
            let answer = (self.post)(&self.settings.url, &body).map_err(|why| self.failed(why))?;
            all.extend(vectors(&answer, batch.len()).map_err(|why| self.failed(why))?);
        }
        Ok(all)
    }
}

/// In the order of the texts, whatever the order of the answer.
fn vectors(answer: &Value, wanted: usize) -> Result<Vec<Vec<f32>>, String> {
    let rows = answer.get("data").and_then(Value::as_array).ok_or("it sent no `data`")?;
    let mut out: Vec<Vec<f32>> = vec![Vec::new(); wanted];
    for (at, row) in rows.iter().enumerate() {
        let index = row.get("index").and_then(Value::as_u64).map_or(at, |index| index as usize);
        let numbers =
            row.get("embedding").and_then(Value::as_array).ok_or("a row has no `embedding`")?;
        let vector: Option<Vec<f32>> = numbers
            .iter()
            .take(MOST_DIMENSIONS + 1)
            .map(|x| x.as_f64().map(|x| x as f32))
            .collect();
        let mut vector = vector.ok_or("an embedding is not a list of numbers")?;
        normalise(&mut vector);
        *out.get_mut(index).ok_or("it sent more rows than texts")? = vector;
    }
    let size = out.first().map_or(0, Vec::len);
    if !(1..=MOST_DIMENSIONS).contains(&size) || out.iter().any(|vector| vector.len() != size) {
        return Err(format!("it did not send {wanted} vectors of one size"));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    type Answer = fn(&Value) -> Result<Value, String>;

    fn embedder(answer: Answer) -> (HttpEmbedder, Arc<Mutex<Vec<Value>>>) {
        let sent: Arc<Mutex<Vec<Value>>> = Arc::default();
        let log = Arc::clone(&sent);
        let post: PostJson = Box::new(move |url, body| {
            assert_eq!(url, "https://e.test/v1/embeddings");
            log.lock().unwrap().push(body.clone());
            answer(body)
        });
        let settings =
            EndpointSettings { url: "https://e.test/v1/embeddings".into(), model: "m".into() };
        (HttpEmbedder::new(settings, post), sent)
    }

    #[test]
    fn rows_are_put_in_order_and_batches_are_bounded() {
        let (embedder, sent) = embedder(|body| {
            let n = body["input"].as_array().unwrap().len();
            let rows: Vec<Value> = (0..n)
                .rev()
                .map(|i| json!({"index": i, "embedding": [i as f64 + 1.0, 0.0]}))
                .collect();
            Ok(json!({"data": rows}))
        });
        let texts = vec!["x"; BATCH + 3];
        let vectors = embedder.embed(&texts).unwrap();
        assert_eq!(vectors.len(), BATCH + 3);
        assert!(vectors.iter().all(|vector| vector == &[1.0, 0.0]), "of length 1");
        let sizes: Vec<usize> = sent
            .lock()
            .unwrap()
            .iter()
            .map(|body| body["input"].as_array().unwrap().len())
            .collect();
        assert_eq!(sizes, [BATCH, 3]);
        assert_eq!(sent.lock().unwrap()[0]["model"], "m");
    }

    #[test]
    fn a_wrong_answer_is_an_error_that_names_the_endpoint() {
        let answers: [Answer; 6] = [
            |_| Err("status 401".into()),
            |_| Ok(json!({})),
            |_| Ok(json!({"data": []})),
            |_| Ok(json!({"data": [{"embedding": ["a"]}]})),
            |_| Ok(json!({"data": [{"embedding": [1.0]}, {"embedding": [1.0]}]})),
            |_| Ok(json!({"data": [{"embedding": []}]})),
        ];
        for answer in answers {
            let error = embedder(answer).0.embed(&["a"]).unwrap_err().to_string();
            assert!(error.contains("https://e.test"), "{error}");
        }
    }
}
