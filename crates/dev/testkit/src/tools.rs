//! Tools by what they touch and how they behave.

use crate::agent::ROOT;
use crate::timeline::{Timeline, TimelineMoment};
use ostler_core::ids::CallId;
use ostler_core::permission::{Access, PathScope};
use ostler_core::ports::{BoxFuture, Tool, ToolContext};
use ostler_core::tool::{ToolOutput, ToolSpec};
use ostler_core::tool_facts::{FileInput, ToolFacts, ToolKind};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::{Barrier, Semaphore};

type Touches = Box<dyn Fn(&Value) -> Result<Access, Box<ToolOutput>> + Send + Sync>;
type Acts = Box<dyn Fn(Value, ToolContext) -> BoxFuture<'static, ToolOutput> + Send + Sync>;

/// A tool that echoes its input unless it is told to behave otherwise.
pub struct FakeTool {
    spec: ToolSpec,
    touches: Touches,
    acts: Acts,
    timeline: Arc<Timeline>,
}

/// The path of the input, or one that no other test path equals.
fn path(input: &Value) -> PathScope {
    let path = input.get("path").and_then(Value::as_str);
    PathScope::File(path.map_or_else(|| format!("{ROOT}/default").into(), Into::into))
}

impl FakeTool {
    fn new(
        name: &str,
        touches: impl Fn(&Value) -> Result<Access, Box<ToolOutput>> + Send + Sync + 'static,
    ) -> Self {
        let description = format!("The tool {name}.");
        let input_schema = json!({ "type": "object" });
        let facts = ToolFacts::default();
        let spec = ToolSpec { name: name.into(), description, input_schema, facts };
        let acts: Acts =
            Box::new(|input, _| Box::pin(async move { ToolOutput::text(format!("echo {input}")) }));
        FakeTool { spec, touches: Box::new(touches), acts, timeline: Arc::default() }
    }

    fn declaring(mut self, kind: ToolKind, files: &'static [FileInput]) -> Self {
        self.spec.facts = ToolFacts { kind, files, ..ToolFacts::default() };
        self
    }

    /// Harmless: reads the path of its input.
    pub fn reading(name: &str) -> Self {
        FakeTool::new(name, |input| Ok(Access::reading(path(input))))
            .declaring(ToolKind::Reads, const { &[FileInput::read("path")] })
    }

    /// Changes the path of its input.
    pub fn writing(name: &str) -> Self {
        FakeTool::new(name, |input| Ok(Access::writing(path(input))))
            .declaring(ToolKind::Edits, const { &[FileInput::write("path")] })
    }

    /// May touch anything.
    pub fn unknown(name: &str) -> Self {
        FakeTool::new(name, |_| Ok(Access::unknown()))
    }

    /// Changes nothing here, and talks to a host.
    pub fn contacting(name: &str, host: &str) -> Self {
        let hosts = vec![host.to_owned()];
        FakeTool::new(name, move |_| Ok(Access { hosts: hosts.clone(), ..Access::nothing() }))
    }

    /// Touches nothing, and is there to wait.
    pub fn waiting(name: &str) -> Self {
        FakeTool::new(name, |_| Ok(Access::nothing())).declaring(ToolKind::Waits, &[])
    }

    /// Refuses every input.
    pub fn misused(name: &str) -> Self {
        FakeTool::new(name, |_| Err(Box::new(ToolOutput::misuse("the field \"path\" is missing"))))
    }

    /// Refuses an input without a path.
    #[must_use]
    pub fn demanding_a_path(mut self) -> Self {
        let touches = self.touches;
        self.touches = Box::new(move |input| match input.get("path") {
            Some(Value::String(_)) => touches(input),
            _ => Err(Box::new(ToolOutput::misuse("the field \"path\" is missing"))),
        });
        self
    }

    /// Panics already when it is asked what it would touch.
    pub fn panicking_at_access(name: &str) -> Self {
        FakeTool::new(name, |_| quiet_panic())
    }

    /// After it was looked at once, its name leads elsewhere: somebody put a link there.
    pub fn moves_to(mut self, place: &str) -> Self {
        let (first, place) = (std::sync::Once::new(), PathScope::File(place.into()));
        let touches = self.touches;
        self.touches = Box::new(move |input| {
            let mut now = Ok(Access::writing(place.clone()));
            first.call_once(|| now = touches(input));
            now
        });
        self
    }

    pub(crate) fn witnessed(mut self, timeline: &Arc<Timeline>) -> Arc<dyn Tool> {
        self.timeline = timeline.clone();
        Arc::new(self)
    }

    pub fn acts(
        mut self,
        acts: impl Fn(Value, ToolContext) -> BoxFuture<'static, ToolOutput> + Send + Sync + 'static,
    ) -> Self {
        self.acts = Box::new(acts);
        self
    }

    /// Ends once everybody is at the barrier.
    pub fn meets(self, barrier: &Arc<Barrier>) -> Self {
        let barrier = barrier.clone();
        self.acts(move |_, _| {
            let barrier = barrier.clone();
            Box::pin(async move {
                barrier.wait().await;
                ToolOutput::text("met")
            })
        })
    }

    /// Ends once the test gives a permit.
    pub fn waits(self, permits: &Arc<Semaphore>) -> Self {
        let permits = permits.clone();
        self.acts(move |_, _| {
            let permits = permits.clone();
            Box::pin(async move {
                if let Ok(permit) = permits.acquire().await {
                    permit.forget();
                }
                ToolOutput::text("waited")
            })
        })
    }

    pub fn hangs(self) -> Self {
        self.acts(|_, _| Box::pin(std::future::pending()))
    }

    /// Without the panic hook, which would print.
    pub fn panics(self) -> Self {
        self.acts(|_, _| Box::pin(async { quiet_panic() }))
    }

    pub fn fails(self, why: &str) -> Self {
        self.gives(ToolOutput::error(why))
    }

    pub fn gives(self, output: ToolOutput) -> Self {
        self.acts(move |_, _| {
            let output = output.clone();
            Box::pin(async move { output })
        })
    }

    /// Reports each tail, and gives way to the others after each. Then ends, or hangs.
    pub fn reports(self, tails: &'static [&'static str], hangs: bool) -> Self {
        self.acts(move |_, cx| {
            Box::pin(async move {
                for tail in tails {
                    cx.progress.tail(tail);
                    tokio::task::yield_now().await;
                }
                if hangs {
                    std::future::pending::<()>().await;
                }
                ToolOutput::text("reported")
            })
        })
    }

    /// An output of so many bytes, in lines.
    pub fn floods(self, bytes: usize) -> Self {
        let lines: String = (0..).map(|n| format!("line {n}\n")).take(bytes / 6).collect();
        self.gives(ToolOutput::text(lines.get(..bytes).unwrap_or(&lines)))
    }
}

fn quiet_panic() -> ! {
    std::panic::resume_unwind(Box::new("scripted panic"))
}

impl Tool for FakeTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, input: &Value) -> Result<Access, ToolOutput> {
        (self.touches)(input).map_err(|misuse| *misuse)
    }

    fn run(&self, input: Value, cx: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let id = cx.call.clone();
        let access = (self.touches)(&input).unwrap_or_default();
        self.timeline.add(TimelineMoment::Began { id: id.clone(), access });
        let witness = Witness { id, timeline: self.timeline.clone(), ended: false };
        let act = (self.acts)(input, cx);
        Box::pin(async move {
            let output = act.await;
            witness.end();
            output
        })
    }
}

/// Tells how the run of a tool ended, also when it was dropped.
struct Witness {
    id: CallId,
    timeline: Arc<Timeline>,
    ended: bool,
}

impl Witness {
    fn end(mut self) {
        self.ended = true;
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        let id = self.id.clone();
        self.timeline.add(if self.ended {
            TimelineMoment::Ended(id)
        } else {
            TimelineMoment::Stopped(id)
        });
    }
}
