package agent

import (
	"context"
	"errors"

	"tape/repo"
)

// resume continues a turn that the tape already has a part of. done says that nothing is left to do;
// err is then the error with which the turn had ended, if any.
func (r *turn) resume(ctx context.Context) (done bool, err error) {
	p := r.past
	r.step, r.promptAt, r.end = p.step, p.promptAt, p.end
	if p.elsewhere {
		return true, nil // the other turn answers it
	}
	if p.prompt == nil {
		return false, nil
	}
	r.say(p.text)
	switch {
	case p.status == statusOK:
		return true, nil
	case p.ended():
		return true, errors.New(p.problem)
	case !p.open:
		return false, nil
	}
	return false, r.repair(ctx)
}

// textInterrupted is recorded as the result of a call that has none.
const textInterrupted = "interrupted: the program ended before the call had a result. It may have been done in part or completely: check before you do it again."

// repair ends a step that was interrupted while tools ran.
func (r *turn) repair(ctx context.Context) error {
	d := r.drafts()
	r.step++
	for _, c := range r.past.waiting {
		if c.Name == subagentTool {
			if err := r.discardFork(ctx, c.ID); err != nil {
				return err
			}
		}
		d.add(repo.KindToolResult, map[string]any{"results": []any{textInterrupted}}, meta{CallIDs: []string{c.ID}, IsError: []string{c.ID}})
	}
	status := statusInterrupted
	if len(r.past.waiting) == 0 {
		status = statusOK // all calls had their results
	}
	d.run(status, nil)
	d.step(statusContinue, "")
	r.past.step = r.step
	return d.save(ctx)
}

// discardFork discards the fork of a subagent that had not ended.
func (r *turn) discardFork(ctx context.Context, callID string) error {
	f, err := r.tape.Store().Tape(ctx, r.tape.Name()+"/"+forkName(callID))
	if errors.Is(err, repo.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Discard(ctx)
}
