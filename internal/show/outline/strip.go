package outline

import (
	"slices"
	"time"
)

// Sign says what a mark on the strip stands for.
type Sign string

// The signs.
const (
	Prompt  Sign = "prompt"
	Call    Sign = "call"
	Error   Sign = "error"
	Handoff Sign = "handoff"
)

// Strip shows a session on a time axis. Pauses are shortened, so that the work between them can be seen.
type Strip struct {
	Bins   []Bin  // of equal width
	Marks  []Mark // prompts and handoffs
	Pauses []Pause
}

// Bin counts the calls and errors in a section of the strip.
type Bin struct {
	Entry         int64 // the first one that is counted; 0: none
	Calls, Errors int   // Calls includes Errors
}

// Mark is a prompt or handoff on the strip. At is its place, from 0 to 1.
type Mark struct {
	Entry int64
	Sign  Sign
	At    float64
}

// Pause is a long time without entries. At is its place, from 0 to 1; Long is how long it was.
type Pause struct {
	At   float64
	Long time.Duration
}

const (
	// Bins is the number of bins of a strip.
	Bins = 120
	// maxMarks is how many prompts and handoffs a strip shows: more could not be told apart.
	maxMarks = 200

	gap   = 2 * time.Minute  // the longest time between two entries that is drawn; longer ones are cut to it
	pause = 30 * time.Minute // the shortest time between two entries that counts as a pause
)

// axis places entries in time.
type axis struct {
	last   time.Time
	now    time.Duration
	at     []time.Duration // of each entry, beginning with the one whose id is first
	first  int64
	marks  []Mark // At is not set yet
	pauses []axisPause
}

type axisPause struct{ at, long time.Duration }

// add adds an entry to the axis. One without a date is placed a second after the one before it.
func (a *axis) add(id int64, at time.Time, dated bool) {
	step := time.Second
	if dated {
		if !a.last.IsZero() {
			since := max(0, at.Sub(a.last))
			if since >= pause {
				a.pauses = append(a.pauses, axisPause{a.now + gap/2, since})
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

// strip returns the finished strip. If all entries have the same date, they are spread evenly.
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
