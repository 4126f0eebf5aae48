package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"tape/hooks"
	"tape/internal/agent/models"
	"tape/internal/agent/tools"
	"tape/internal/show/display"
	"tape/repo"
)

// handOff makes the drafts begin a new phase. Each handoff of the agent goes through here.
func (r *turn) handOff(d *drafts, a repo.Anchor) error {
	if a.State == nil {
		a.State = json.RawMessage("{}")
	}
	if r.forked { // an anchor would begin a new phase of the session
		data := map[string]any{"name": a.Name, "state": a.State}
		if a.Summary != "" {
			data["summary"] = a.Summary
		}
		d.event(eventPhase, data)
		return nil
	}
	e, err := r.entry(repo.KindAnchor, a.State, meta{})
	a.State, a.Meta = e.Payload, e.Meta
	if r.agent.masked != nil {
		summary, _ := r.agent.masked.Mask([]byte(a.Summary))
		a.Summary = string(summary)
	}
	d.anchor, d.at = &a, len(d.list)
	return err
}

// handOffOverflow begins a new phase with the same prompt, because the context was too long. If a model can
// summarize, the phase begins with a summary and the calls that the turn has made.
func (r *turn) handOffOverflow(ctx context.Context, problem error) error {
	carry := carryAfter(problem.Error(), r.sent, r.past.tight)
	r.past.handoffs++
	r.past.tight++
	d := r.drafts()
	summary, err := r.summarize(ctx, d, carry.Allowed)
	if err != nil {
		summary = "" // the turn goes on without a summary
	}
	summary = display.KeepEnds(summary, carry.Summary/2)
	if ctx.Err() != nil {
		return r.fail(ctx, kindCancelled, ctx.Err(), nil)
	}
	state, err := encoded(map[string]any{"reason": kindContext, "error": problem.Error()})
	if err == nil {
		err = r.handOff(d, repo.Anchor{Name: autoHandoff, Summary: summary, State: state})
	}
	if err != nil {
		return err
	}
	d.step(statusAutoHandoff, problem.Error())
	shown := "the context was too long: the model goes on without what came before"
	if summary != "" {
		shown = "the context was too long: the model goes on with a summary of what came before"
		text := textGoOn
		done, err := r.doneCalls(ctx, carry.Calls)
		if err != nil {
			return err
		}
		if done != "" {
			text += textDone + done
		}
		d.message("user", text, meta{Step: r.step})
	}
	if err := r.savePrompt(ctx, d, true); err != nil {
		return err
	}
	r.kept = []models.Kept{}
	r.emit(hooks.Event{Kind: hooks.EventNotice, Data: map[string]any{"text": shown + "; the tape keeps everything"}})
	return nil
}

// stillTooLong is the error of a turn that has begun as many new contexts as it may.
func (r *turn) stillTooLong(problem error) error {
	if r.past.handoffs == 0 {
		return problem
	}
	return fmt.Errorf("%w (also after %s in this turn; ask for less at once, choose a model with a larger context, or raise the setting auto_handoffs)",
		problem, display.Count(r.past.handoffs, "new context", "new contexts"))
}

// compact begins a new phase with a summary that a model makes.
func (r *turn) compact(ctx context.Context) (string, error) {
	d := r.drafts()
	summary, err := r.summarize(ctx, d, 0)
	if err != nil {
		return "", fmt.Errorf("there is no summary: %w; write one yourself: ,tape.handoff name=phase summary='what is done, what is left'", err)
	}
	if err := r.handOff(d, repo.Anchor{Name: "compact", Summary: summary}); err != nil {
		return "", err
	}
	if err := d.save(ctx); err != nil {
		return "", err
	}
	return "A new context begins, with this summary:\n\n" + summary, nil
}

// textNewPhase comes before the turn's prompt in a phase that a tool has begun.
const textNewPhase = "The handoff is made: this is the new context, and what came before is not in it. What the anchor says is done need not be done again. The request was:"

// handoffPlan is a handoff that a tool has requested in a step. It is made after the calls of the
// step, in one transaction with its result, so that all results are in the phase of their calls.
type handoffPlan struct {
	mu     sync.Mutex
	anchor *repo.Anchor
	result *finishedCall
}

// withPlan returns a context in which tools plan a handoff instead of making it.
func (p *handoffPlan) withPlan(ctx context.Context) context.Context {
	return tools.HandOffLater(ctx, func(a repo.Anchor) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.anchor != nil {
			return errors.New("this step already has a handoff")
		}
		p.anchor = &a
		return nil
	})
}

// holdBack keeps f to be recorded later, if it is the result of the handoff, and reports whether it is.
func (p *handoffPlan) holdBack(f finishedCall) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.anchor == nil || p.result != nil || f.call.Tool != handoffTool || f.result.Err != nil {
		return false
	}
	p.result = &f
	return true
}

const handoffTool = "tape.handoff"

// endCallStep records the end of a step with calls, and the handoff that one of them has requested.
func (r *turn) endCallStep(ctx context.Context, reply *reply, p *handoffPlan) (more bool, err error) {
	d := r.drafts()
	if p.result == nil {
		return true, r.endStep(ctx, d, true, reply)
	}
	show := r.addResult(ctx, d, *p.result)
	if err := r.handOff(d, *p.anchor); err != nil {
		return false, err
	}
	after := r.drafts()
	after.message("user", textNewPhase, meta{Step: r.step})
	after.message("user", r.past.prompt, meta{Again: true})
	if err = errors.Join(after.err, r.endStep(ctx, d, true, reply, after.list...)); err == nil {
		r.promptAt, r.kept = r.end, []models.Kept{}
		show()
	}
	return true, err
}
