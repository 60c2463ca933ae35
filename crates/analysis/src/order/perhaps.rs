//! What a call does that may lead to one of several functions: nobody can rely on it.

use racewarden_ir::Value;

use super::events::{Event, Scan};
use crate::effects::Effect;
use crate::pointsto::CallSite;

impl Scan<'_> {
    /// Notes an effect that the call has or has not; `false` for those that are the same either way.
    pub(super) fn perhaps(&mut self, site: CallSite, effect: &Effect, arguments: &[Value]) -> bool {
        match effect {
            Effect::Barrier { .. }
            | Effect::BarrierInit { .. }
            | Effect::SemaphoreInit { .. }
            | Effect::SemaphorePost { .. }
            | Effect::SemaphoreWait { .. }
            | Effect::TeamBarrier => self.events.vague = true,
            Effect::OpenChannel { .. }
            | Effect::Send { .. }
            | Effect::Receive { .. }
            | Effect::CloseDescriptor { .. }
            | Effect::MoveDescriptors { .. } => {
                self.events.channels.moved = true;
                self.events.channels.closed = true;
            }
            Effect::Announce => self.events_at(site, Event::Announce),
            Effect::CountDown { count, .. } => {
                if let Some(count) = arguments.get(*count as usize) {
                    self.taint(site.0, count);
                }
            }
            Effect::Lock { .. } => {}
            Effect::Await | Effect::AwaitCount { .. } | Effect::AwaitChange { .. } => {}
            _ => return false,
        }
        true
    }
}
