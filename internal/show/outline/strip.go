package outline

import (
	"slices"
	"time"
)

// Sign is what a mark on the strip stands for.
type Sign string

// The signs.
const (
	Prompt  Sign = "prompt"
	Call    Sign = "call"
	Error   Sign = "error"
	Handoff Sign = "handoff"
)

// Strip is a session drawn along its time. Pauses are cut short, so that the work between them can be seen.
type Strip struct {
	Bins   []Bin  // equal parts of the time
	Marks  []Mark // prompts and handoffs
	Pauses []Pause
}

// Bin counts the calls in a part of the time.
type Bin struct {
	Entry         int64 // the first one
	Calls, Errors int
}

// Mark is a point on the strip. At is a share of the width, 0 to 1.
type Mark struct {
	Entry int64
	Sign  Sign
	At    float64
}

// Pause is a time in which nothing happened.
type Pause struct {
	At   float64
	Long time.Duration
}

const (
	// Bins is the number of bins of a strip.
	Bins = 120
	// maxMarks is how many prompts and handoffs are drawn: more could not be told apart.
	maxMarks = 200

	gap   = 2 * time.Minute  // of a longer time between two entries, so much is drawn
	pause = 30 * time.Minute // what is noted as a pause
)

// axis places entries in time.
type axis struct {
	last   time.Time
	now    time.Duration
	at     []time.Duration // by the id of the entry, from that of the first one on
	first  int64
	marks  []Mark // At is not set yet
	pauses []rest
}

type rest struct{ at, long time.Duration }

// pass notes when an entry was. An entry without a date is a moment after the one before it.
func (a *axis) pass(id int64, at time.Time, dated bool) {
	step := time.Second
	if dated {
		if !a.last.IsZero() {
			since := max(0, at.Sub(a.last))
			if since >= pause {
				a.pauses = append(a.pauses, rest{a.now + gap/2, since})
			}
			step = min(since, gap)
		}
		if at.After(a.last) {
			a.last = at
		}
	}
	if len(a.at) == 0 {
		a.first, step = id, 0
	}
	a.now += step
	a.at = append(a.at, a.now)
}

func (a *axis) mark(entry int64, sign Sign) {
	a.marks = append(a.marks, Mark{Entry: entry, Sign: sign})
}

// strip draws the marks. If all was at once, they are spread evenly.
func (a *axis) strip() Strip {
	if len(a.marks) == 0 {
		return Strip{}
	}
	s := Strip{Bins: make([]Bin, Bins)}
	place := func(id int64) float64 {
		i := id - a.first
		if i < 0 || i >= int64(len(a.at)) || len(a.at) < 2 {
			return 0
		}
		if a.now <= 0 {
			return float64(i) / float64(len(a.at)-1)
		}
		return float64(a.at[i]) / float64(a.now)
	}
	slices.SortStableFunc(a.marks, func(x, y Mark) int { return int(x.Entry - y.Entry) })
	for _, m := range a.marks {
		m.At = place(m.Entry)
		if m.Sign == Prompt || m.Sign == Handoff {
			if len(s.Marks) < maxMarks {
				s.Marks = append(s.Marks, m)
			}
			continue
		}
		b := &s.Bins[min(int(m.At*Bins), Bins-1)]
		if b.Entry == 0 {
			b.Entry = m.Entry
		}
		if b.Calls++; m.Sign == Error {
			b.Errors++
		}
	}
	for _, p := range a.pauses {
		if a.now > 0 {
			s.Pauses = append(s.Pauses, Pause{float64(p.at) / float64(a.now), p.long})
		}
	}
	return s
}
