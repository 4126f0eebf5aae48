package host

import (
	"context"
	"encoding/json"
	"fmt"

	"tape/internal/serve/host/api"
	"tape/internal/serve/host/authorship"
	"tape/internal/serve/host/lanes"
	"tape/internal/serve/host/results"
	"tape/internal/serve/host/runs"
	"tape/internal/text/jsonl"
	"tape/repo"
)

const (
	maxResults = 100 // of a batch
	maxResult  = 1 << 20
)

// postResults records what a run tells. A sequence that is on the tape is not recorded again.
func postResults(c *call) (any, error) {
	var q api.ResultsRequest
	if _, err := c.body(&q); err != nil {
		return nil, err
	}
	if len(q.Results) == 0 || len(q.Results) > maxResults {
		return nil, api.Invalid("results has %d; a batch has 1 to %d", len(q.Results), maxResults)
	}
	r := c.ofPath()
	t, err := c.tape(r.Tape)
	if err != nil {
		return nil, err
	}
	for i := range q.Results {
		if q.Results[i].Data, err = c.stored(t, q.Results[i].Data); err != nil {
			return nil, err
		}
	}
	r.Results.Lock()
	defer r.Results.Unlock()
	seen, err := c.s.seenOf(c.ctx(), t.Tape, r)
	if err != nil {
		return nil, err
	}
	out := api.ResultsAnswer{Warnings: []string{}}
	end, fresh, outside, err := c.draftsOf(r, q.Results, seen, &out)
	if err != nil {
		return nil, err
	}
	if over := r.Over(c.s.Now()); over && len(fresh) > 0 {
		if s := r.StatusNow(); s == runs.Running || s == runs.Expired {
			return nil, runs.PastDeadline()
		}
		return nil, api.Unauthorized("the token is void: the run is over")
	}
	for _, j := range outside {
		host, err := c.s.ensureTape(c.ctx(), hostTape)
		if err == nil {
			err = c.s.lanes.Append(c.ctx(), host, j)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := c.s.lanes.Append(c.ctx(), t.Tape, &lanes.Job{Drafts: fresh}); err != nil {
		return nil, err
	}
	for _, res := range q.Results {
		seen[res.Sequence] = true
	}
	if end == "" {
		end = r.MissedEnd
	}
	if end != "" {
		if err := c.s.end(c.ctx(), r, end); err != nil {
			return nil, err
		}
	}
	out.Status = r.Answer().Status
	return out, nil
}

// draftsOf makes entries of the results that are new; outside is the state that is in the tape of the server.
func (c *call) draftsOf(r *runs.Run, told []api.RunResult, seen map[int64]bool, out *api.ResultsAnswer) (end string, drafts []repo.Draft, outside []*lanes.Job, err error) {
	own := map[int64]bool{}
	for _, res := range told {
		switch {
		case res.Sequence < 1:
			return "", nil, nil, api.Invalid("sequence %d: they begin at 1", res.Sequence)
		case res.Type == "":
			return "", nil, nil, api.Invalid("the result %d has no type", res.Sequence)
		case len(res.Data) > maxResult:
			return "", nil, nil, api.TooLarge(fmt.Sprintf("the result %d", res.Sequence), maxResult)
		case seen[res.Sequence] || own[res.Sequence]:
			out.Ignored++
			continue
		}
		own[res.Sequence] = true
		if !results.InProtocol(res.Type) {
			if err := authorship.CheckEvent(res.Type); err != nil {
				return "", nil, nil, err
			}
			out.Warnings = append(out.Warnings, fmt.Sprintf("the type %.60q of result %d is not known; it is kept as an event", res.Type, res.Sequence))
		}
		d, err := results.Draft(res)
		if err != nil {
			return "", nil, nil, err
		}
		if d.Meta, err = lanes.Stamp(nil, r.ID, r.Thread, "", "", map[string]any{lanes.MetaSeq: res.Sequence, "author": r.Runner}); err != nil {
			return "", nil, nil, err
		}
		drafts = append(drafts, d)
		out.Accepted++
		switch res.Type {
		case "run.completed":
			end = runs.Completed
		case "run.failed":
			end = runs.Failed
		case "state.updated":
			state, tape, err := results.State(r, res, hostTape)
			if err == nil {
				err = c.plainKey(jsonl.GetString(state.Payload, "key"))
			}
			if err != nil {
				return "", nil, nil, err
			}
			state.Meta = d.Meta
			if tape == r.Tape {
				drafts = append(drafts, state)
				continue
			}
			key := fmt.Sprint("result ", res.Sequence)
			j := &lanes.Job{Key: lanes.KeyOf(r.ID, key), Request: lanes.RequestHash(res.Data)}
			if state.Meta, err = lanes.Stamp(nil, r.ID, "", key, j.Request, nil); err != nil {
				return "", nil, nil, err
			}
			j.Drafts = []repo.Draft{state}
			outside = append(outside, j)
		}
	}
	return end, drafts, outside, nil
}

// seenOf are the sequences that are on the tape: after a restart they are read from there.
func (s *Server) seenOf(ctx context.Context, t *repo.Tape, r *runs.Run) (map[int64]bool, error) {
	if r.Seen != nil {
		return r.Seen, nil
	}
	rev, err := s.Store.Revision(ctx, t, "")
	if err != nil {
		return nil, err
	}
	seen := map[int64]bool{}
	for e, err := range rev.Entries(ctx, max(1, r.StartSeq)) {
		if err != nil {
			return nil, err
		}
		var m struct {
			Run      string `json:"run_id"`
			Sequence int64  `json:"sequence"`
		}
		if json.Unmarshal(e.Meta, &m) != nil || m.Run != r.ID || m.Sequence == 0 {
			continue
		}
		seen[m.Sequence] = true
		switch jsonl.GetString(e.Payload, "name") { // the server died between this and the run's record
		case "run.completed":
			r.MissedEnd = runs.Completed
		case "run.failed":
			r.MissedEnd = runs.Failed
		}
	}
	r.Seen = seen
	return seen, nil
}
