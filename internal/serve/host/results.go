package host

import (
	"context"
	"fmt"

	"tape/internal/serve/host/api"

	"tape/internal/text/jsonl"
	"tape/repo"
)

const (
	maxResults = 100     // in a batch
	maxResult  = 1 << 20 // bytes of one
)

// postResults records a run's results. It ignores a result whose sequence is already on the tape.
func postResults(c *request) (any, error) {
	var q api.ResultsRequest
	if _, err := c.body(&q); err != nil {
		return nil, err
	}
	if len(q.Results) == 0 || len(q.Results) > maxResults {
		return nil, api.Invalid("results has %d; a batch has 1 to %d", len(q.Results), maxResults)
	}
	r := c.pathRun()
	t, err := c.tape(r.Tape)
	if err != nil {
		return nil, err
	}
	for i := range q.Results {
		if q.Results[i].Data, err = c.resolveArtifacts(t, q.Results[i].Data); err != nil {
			return nil, err
		}
	}
	r.Results.Lock()
	defer r.Results.Unlock()
	seen, err := c.s.sequences(c.ctx(), t.Tape, r)
	if err != nil {
		return nil, err
	}
	out := api.ResultsAnswer{Warnings: []string{}}
	end, fresh, outside, err := c.draftsOf(r, q.Results, seen, &out)
	if err != nil {
		return nil, err
	}
	if r.Over(c.s.Now()) && len(fresh) > 0 {
		if s := r.StatusNow(); s == running || s == expired {
			return nil, pastDeadline()
		}
		return nil, api.Unauthorized("the token is void: the run has ended")
	}
	for _, j := range outside {
		host, err := c.s.own.Make(c.ctx(), hostTape)
		if err == nil {
			err = c.s.queues.Append(c.ctx(), host, j)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := c.s.queues.Append(c.ctx(), t.Tape, &writeJob{Drafts: fresh}); err != nil {
		return nil, err
	}
	for _, res := range q.Results {
		seen.Add(res.Sequence)
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

// draftsOf returns the entries for the new results: drafts for the run's tape, and outside for the server's own
// tape. end is the run's status if a result ends it, else "". out gets the counts and the warnings.
func (c *request) draftsOf(r *run, list []api.RunResult, seen *runSequences, out *api.ResultsAnswer) (end string, drafts []repo.Draft, outside []*writeJob, err error) {
	batch := map[int64]bool{}
	for _, res := range list {
		switch {
		case res.Sequence < 1:
			return "", nil, nil, api.Invalid("sequence %d: sequences begin at 1", res.Sequence)
		case res.Type == "":
			return "", nil, nil, api.Invalid("the result %d has no type", res.Sequence)
		case len(res.Data) > maxResult:
			return "", nil, nil, api.TooLarge(fmt.Sprintf("the result %d", res.Sequence), maxResult)
		case seen.Has(res.Sequence) || batch[res.Sequence]:
			out.Ignored++
			continue
		case !seen.HasRoom(res.Sequence) && !batch[res.Sequence-1]:
			return "", nil, nil, api.Invalid("sequence %d: the sequences of the run have %d gaps, and more are not allowed: count up by one", res.Sequence, maxRanges)
		}
		batch[res.Sequence] = true
		if !inProtocol(res.Type) {
			if err := checkEventName(res.Type); err != nil {
				return "", nil, nil, err
			}
			out.Warnings = append(out.Warnings, fmt.Sprintf("the type %.60q of result %d is unknown; it is recorded as an event", res.Type, res.Sequence))
		}
		d, err := resultDraft(res)
		if err != nil {
			return "", nil, nil, err
		}
		if d.Meta, err = stampMeta(nil, r.ID, r.Thread, "", "", map[string]any{metaSeq: res.Sequence, "author": r.Runner}); err != nil {
			return "", nil, nil, err
		}
		drafts = append(drafts, d)
		out.Accepted++
		switch res.Type {
		case "run.completed":
			end = completed
		case "run.failed":
			end = failed
		case "state.updated":
			state, tape, err := resultState(r, res, hostTape)
			if err == nil {
				err = c.checkKey(jsonl.GetString(state.Payload, "key"))
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
			j := &writeJob{Key: keyOf(r.ID, key), Request: requestHash(res.Data)}
			if state.Meta, err = stampMeta(nil, r.ID, "", key, j.Request, nil); err != nil {
				return "", nil, nil, err
			}
			j.Drafts = []repo.Draft{state}
			outside = append(outside, j)
		}
	}
	return end, drafts, outside, nil
}

// sequences returns the sequences of a run's results that are on the tape. After a restart it reads them from
// there. r.Results must be locked.
func (s *Server) sequences(ctx context.Context, t *repo.Tape, r *run) (*runSequences, error) {
	if r.Seen != nil {
		return r.Seen, nil
	}
	rev, err := s.Store.Revision(ctx, t, "")
	if err != nil {
		return nil, err
	}
	seen, end, err := recordedResult(ctx, rev, r.ID, r.StartSeq)
	if err != nil {
		return nil, err
	}
	r.Seen, r.MissedEnd = seen, end
	return seen, nil
}
