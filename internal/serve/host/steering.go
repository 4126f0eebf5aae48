package host

import (
	"bytes"

	"tape/internal/serve/host/api"
)

const (
	maxSteering = 100      // waiting messages
	maxSteer    = 64 << 10 // bytes of a message
)

func steer(c *request) (any, error) {
	var q api.SteerRequest
	if _, err := c.body(&q); err != nil {
		return nil, err
	}
	if len(q.Text) > maxSteer {
		return nil, api.TooLarge("the text", maxSteer)
	}
	if len(bytes.TrimSpace([]byte(q.Text))) == 0 {
		return nil, api.Invalid("text is missing")
	}
	r := c.pathRun()
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if r.Status != running {
		return nil, api.Conflict("the run has ended")
	}
	if len(r.Steering) >= maxSteering {
		return nil, api.Conflict("%d messages wait already", maxSteering)
	}
	r.Steering = append(r.Steering, api.Steer{Text: q.Text, At: c.s.Now().UTC()})
	if err := c.s.runs.Save(r); err != nil {
		r.Steering = r.Steering[:len(r.Steering)-1]
		return nil, err
	}
	return api.SteerAnswer{Pending: len(r.Steering)}, nil
}

// pullSteering returns the waiting messages, and removes them.
func pullSteering(c *request) (any, error) {
	r := c.pathRun()
	r.Mu.Lock()
	defer r.Mu.Unlock()
	out := api.SteerPulled{Items: append([]api.Steer{}, r.Steering...)}
	if len(out.Items) == 0 {
		return out, nil
	}
	r.Steering = nil
	if err := c.s.runs.Save(r); err != nil {
		r.Steering = out.Items
		return nil, err
	}
	if !c.anyTape().unmasked {
		for i := range out.Items {
			out.Items[i].Text = c.s.mask.Text(out.Items[i].Text)
		}
	}
	return out, nil
}
