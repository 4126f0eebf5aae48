package agent

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"tape/internal/agent/tools"
	"tape/repo"
)

// textNewPhase stands before the turn's prompt in a phase that a tool has begun.
const textNewPhase = "The handoff is made: this is the new context, and what came before is not in it. What the anchor says is done need not be done again. The request was:"

// planned is the handoff that a tool has asked for in a step. It is made when the calls of the
// step are over, as one change with its result: so the old phase has all results of its calls.
type planned struct {
	mu     sync.Mutex
	anchor *repo.Anchor
	result *ended
}

// later gives the tools of a step a context in which a handoff is planned.
func (p *planned) later(ctx context.Context) context.Context {
	return tools.HandOffLater(ctx, func(a repo.Anchor) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.anchor != nil {
			return errors.New("there is a handoff in this step already")
		}
		p.anchor = &a
		return nil
	})
}

// takes keeps the result of the handoff back, which is recorded with it.
func (p *planned) takes(e ended) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.anchor == nil || p.result != nil || e.call.Tool != handoffTool || e.result.Err != nil {
		return false
	}
	p.result = &e
	return true
}

const handoffTool = "tape.handoff"

// stepOver records the end of a step with calls, and the handoff that one of them has asked for.
func (r *turn) stepOver(ctx context.Context, reply *reply, p *planned) (more bool, err error) {
	d := r.drafts()
	if p.result == nil {
		return true, r.endStep(ctx, d, true, reply)
	}
	show := r.resultOf(ctx, d, *p.result)
	state := p.anchor.State
	if state == nil {
		state = json.RawMessage("{}")
	}
	a, err := r.anchor(p.anchor.Name, state)
	if err != nil {
		return false, err
	}
	a.Summary, d.anchor = p.anchor.Summary, a
	if r.agent.known != nil {
		summary, _ := r.agent.known.Mask([]byte(a.Summary))
		a.Summary = string(summary)
	}
	behind := r.drafts()
	behind.message("user", textNewPhase, meta{Step: r.step})
	behind.message("user", r.past.prompt, meta{Again: true})
	if err = errors.Join(behind.err, r.endStep(ctx, d, true, reply, behind.list...)); err == nil {
		r.asked = r.end
		show()
	}
	return true, err
}
