package activity

import (
	"cmp"
	"slices"
	"strings"

	"tape/internal/store/about"
	"tape/internal/store/layout"
)

// Session adds up what the entries of a session say. The exported fields are what Add needs to go on; Take
// returns the sums. Save a Session only after Take, which completes Answer.
type Session struct {
	Helper  bool   `json:",omitempty"` // it is a subagent's: nobody asked
	Model   string `json:",omitempty"` // the last one used
	Person  string `json:",omitempty"` // who asked last; "": the tape's owner
	Dir     string `json:",omitempty"`
	Last    int64  `json:",omitempty"` // the latest date, in microseconds since 1970
	Total   int64  `json:",omitempty"` // tokens so far, as the agent says
	Spent   int64  `json:",omitempty"` // millionths of a dollar so far, as the agent says
	Runs    []run  `json:",omitempty"` // the last ones that have an id
	Pending []open `json:",omitempty"` // calls that have no result yet
	Done    []open `json:",omitempty"` // calls of the last results; their details may follow
	Credit  int64  `json:",omitempty"` // active time counted for the last results, in microseconds
	Ending  Ending `json:",omitempty"`
	Answer  string `json:",omitempty"` // the beginning of the last answer, or of the error
	Forked  bool   `json:",omitempty"` // it began with the history of another session
	Own     int64  `json:",omitempty"` // date of the first fact that the agent did not copy, in microseconds since 1970
	Copying bool   `json:",omitempty"` // the last fact counts on another tape

	Turn       Turn    `json:",omitzero"`  // the last one
	LastFailed bool    `json:",omitempty"` // the last call that has a result
	Again      bool    `json:",omitempty"` // a call failed three times
	Failures   []again `json:",omitempty"` // calls that failed

	reply []byte // of the last answer, see Note
	sums  Sums
}

// open is a call that was begun.
type open struct {
	call
	// At is when it was begun, in microseconds since 1970; 0 if unknown.
	At     int64 `json:",omitempty"`
	Failed bool  `json:",omitempty"`
}

// Limits of what is kept for later.
const (
	maxPending = 64
	maxRuns    = 3
)

// nearby is how many of the last rows are searched for one with a key. If none has it, a row is added: several rows
// may have the same key, because rows add up.
const nearby = 32

// pause is how long nothing may be written, in microseconds, until it counts as a pause.
const pause = 5 * 60 * 1e6

// QuarterHour is the time for which sums are kept, in seconds: the days of all time zones begin with one.
const QuarterHour = 15 * 60

// Work is what was done in a quarter of an hour with a model and for a person.
type Work struct {
	Quarter       int64 // of an hour, since 1970; of the latest date before, if an entry has none
	Model, Person string
	Turns, Active int64 // Active in microseconds
	Tokens
	Calls, Failed int64
}

// Tool is how a tool was used in a quarter of an hour.
type Tool struct {
	Quarter       int64
	Name          string
	Calls, Failed int64
	Active        int64 // microseconds
}

// Sums is what entries have added. Rows with the same key add up, also with rows that were taken before.
type Sums struct {
	Model   string // set when the first model becomes known: earlier work without a model was done with it
	Work    []Work
	Tools   []Tool
	Touches []Touch
	Steps   []Step
}

// Step is a request of a person, or a commit that the agent made.
type Step struct {
	Entry, At int64
	Commit    bool
	Text      string // one line; for a commit, its id and subject
}

// Ending says how a session ended.
type Ending string

// The endings.
const (
	Asked       Ending = "asked"    // and not answered
	Working     Ending = "working"  // after a call of a tool
	Answered    Ending = "answered" // see Session.Answer
	Interrupted Ending = "interrupted"
	Failed      Ending = "failed" // with an error
)

// Take returns what was added since the last call of Take.
func (s *Session) Take() Sums {
	if s.reply != nil {
		s.Answer, s.reply = about.Opening(layout.Entry{Payload: s.reply}), nil
	}
	out := s.sums
	s.sums = Sums{}
	return out
}

// Add takes the next entry into account: its id, its date in microseconds since 1970, 0 if it has none, and its Note,
// which may be nil. elsewhere says that the entry's fact counts on another tape.
func (s *Session) Add(id, at int64, n *Note, elsewhere bool) {
	if n == nil {
		s.pass(at, !s.Copying)
		return
	}
	s.know(n)
	if n.fact != 0 {
		if s.Copying = elsewhere; s.Own == 0 && !n.copied {
			s.Own = at
		}
	}
	if n.aside {
		return
	}
	active := s.pass(at, !s.waited(at, n) && !s.Copying)
	if elsewhere {
		s.skip(n)
		return
	}
	if n.turn {
		s.LastFailed, s.Turn = false, Turn{}
	}
	if n.commit != "" {
		s.Turn.Commits++
		s.Turn.Commit, _, _ = strings.Cut(n.commit, " ")
	}
	if n.turn && !s.Helper {
		s.work(at, s.Model).Turns++
		s.add(Step{Entry: id, At: at, Text: n.asked})
	}
	s.add(Step{Entry: id, At: at, Commit: true, Text: n.commit})
	if n.ending != "" {
		s.Ending, s.Answer, s.reply = n.ending, n.answer, n.reply
	}
	if n.usage != nil {
		s.work(at, cmp.Or(n.usage.Model, s.Model)).Tokens.Add(s.used(*n.usage))
	}
	if spent := int64(n.spent*1e6 + 0.5); spent > s.Spent {
		s.work(at, s.Model).Noted.Cost += spent - s.Spent
		s.Spent = spent
	}
	if len(n.calls) > 0 {
		s.work(at, s.Model).Calls += int64(len(n.calls))
	}
	if len(n.calls) > 0 || n.turn {
		s.Done = nil
	}
	for _, c := range n.calls {
		s.tool(at, c.Tool).Calls++
		if len(s.Pending) == maxPending {
			s.Pending = s.Pending[1:]
		}
		s.Pending = append(s.Pending, open{call: c, At: at})
	}
	if len(n.results) > 0 {
		s.end(at, n.results, active)
	}
	for _, d := range n.details {
		s.detail(at, d)
	}
	for _, t := range n.touches {
		s.touch(t, at)
	}
}

// skip takes an entry into account whose fact counts on another tape.
func (s *Session) skip(n *Note) {
	if n.ending != "" {
		s.Ending, s.Answer, s.reply = n.ending, n.answer, n.reply
	}
	if n.usage != nil {
		s.used(*n.usage) // the next run may repeat it
	}
}

// unknown is the rank of a session of which nothing is known to be its own.
const unknown = 1 << 59

// Rank says which of several sessions a fact counts in: the one with the lowest rank. That is the one in which it
// happened, as far as the agents say: a subagent and a fork have a higher rank than others, and one that began later
// than one that began before.
func (s *Session) Rank() int64 {
	rank := cmp.Or(s.Own, unknown)
	if s.Forked {
		rank += 1 << 60
	}
	if s.Helper {
		rank += 1 << 61
	}
	return rank
}

func (s *Session) add(step Step) {
	if step.Text != "" {
		s.sums.Steps = append(s.sums.Steps, step)
	}
}

// know remembers facts that hold from this entry on.
func (s *Session) know(n *Note) {
	s.Helper, s.Forked = s.Helper || n.helper, s.Forked || n.forked
	s.Dir = cmp.Or(n.dir, s.Dir)
	if n.model != "" {
		if s.Model == "" {
			s.sums.Model = n.model
			for i := range s.sums.Work {
				s.sums.Work[i].Model = cmp.Or(s.sums.Work[i].Model, n.model)
			}
		}
		s.Model = n.model
	}
	if n.turn || n.author != "" {
		s.Person = n.author
	}
}

// asks reports whether the result of a tool is a person's answer.
func asks(tool string) bool {
	switch tool {
	case "AskUserQuestion", "ExitPlanMode", "exit_plan_mode", "request_user_input", "ask_user", "question":
		return true
	}
	return false
}

// atOnce is the longest time in microseconds that a tool takes to read or edit a file. A longer time is a wait for
// permission.
const atOnce = 5e6

// waited reports whether the time before the entry was a wait for a person.
func (s *Session) waited(at int64, n *Note) bool {
	edited := false
	for _, r := range n.results {
		i := s.find(r.id)
		if r.rejected || i >= 0 && asks(s.Pending[i].Tool) {
			return true
		}
		if i < 0 {
			return false
		}
		switch effectOf(s.Pending[i].Tool) {
		case reads, writes, edits, patches:
			edited = true
		default:
			return false
		}
	}
	return edited && at-s.Last > atOnce
}

// pass adds the time since the last entry to the active time if it was work and not too long, and returns what it
// added.
func (s *Session) pass(at int64, work bool) (active int64) {
	if at == 0 || at <= s.Last {
		return 0
	}
	if s.Last > 0 && at-s.Last <= pause && work {
		active = at - s.Last
		s.work(at, s.Model).Active += active
	}
	s.Last = at
	return active
}

func (s *Session) quarter(at int64) int64 { return cmp.Or(at, s.Last) / (QuarterHour * 1e6) }

func (s *Session) work(at int64, model string) *Work {
	quarter := s.quarter(at)
	for i := len(s.sums.Work) - 1; i >= max(0, len(s.sums.Work)-nearby); i-- {
		if w := &s.sums.Work[i]; w.Quarter == quarter && w.Model == model && w.Person == s.Person {
			return w
		}
	}
	s.sums.Work = append(s.sums.Work, Work{Quarter: quarter, Model: model, Person: s.Person})
	return &s.sums.Work[len(s.sums.Work)-1]
}

func (s *Session) tool(at int64, name string) *Tool {
	quarter := s.quarter(at)
	for i := len(s.sums.Tools) - 1; i >= max(0, len(s.sums.Tools)-nearby); i-- {
		if t := &s.sums.Tools[i]; t.Quarter == quarter && t.Name == name {
			return t
		}
	}
	s.sums.Tools = append(s.sums.Tools, Tool{Quarter: quarter, Name: name})
	return &s.sums.Tools[len(s.sums.Tools)-1]
}

// used returns the tokens that a run adds. Codex repeats the usage of a request at the next request, with the same
// total. A message of Claude Code may be in several runs, whose numbers grow.
func (s *Session) used(r run) Tokens {
	if r.Total > 0 {
		if r.Total == s.Total {
			return Tokens{}
		}
		s.Total = r.Total
	}
	if r.ID == "" {
		return r.Used
	}
	for i := range s.Runs {
		if old := &s.Runs[i]; old.ID == r.ID {
			more := r.Used.more(old.Used)
			old.Used.Add(more)
			return more
		}
	}
	if len(s.Runs) == maxRuns {
		s.Runs = s.Runs[1:]
	}
	s.Runs = append(s.Runs, r)
	return r.Used
}

// find returns the index in Pending of the call with an id, or of the first call if id is ""; -1 if there is no such
// call.
func (s *Session) find(id string) int {
	if id == "" {
		return min(len(s.Pending), 1) - 1
	}
	return slices.IndexFunc(s.Pending, func(o open) bool { return o.ID == id })
}

// end takes the results of calls into account.
func (s *Session) end(at int64, results []result, active int64) {
	s.Done, s.Credit = nil, active
	for _, r := range results {
		i := s.find(r.id)
		if i < 0 {
			continue
		}
		c := s.Pending[i]
		s.Pending = slices.Delete(s.Pending, i, i+1)
		if active > 0 { // counts for the first call only, because the calls ran at the same time
			s.tool(at, c.Tool).Active += active
			active = 0
		}
		if c.Failed = r.failed; c.Failed {
			s.fail(at, c.call)
		}
		s.LastFailed, s.Turn.Failed = c.Failed, ""
		if c.Failed {
			s.Turn.Failed = cmp.Or(c.Run, c.Tool)
		}
		if r.tests != nil && c.Shell {
			s.Turn.Tests = r.tests
		}
		if !r.rejected && (!r.failed || c.Shell) {
			for i := range c.Touches {
				c.Touches[i].Path = inDir(s.Dir, c.Touches[i].Path)
				s.touch(c.Touches[i], c.At)
			}
			s.Done = append(s.Done, c)
		}
	}
	if len(s.Pending) == 0 {
		s.Pending = nil
	}
}

func (s *Session) fail(at int64, c call) {
	s.tool(at, c.Tool).Failed++
	s.work(at, s.Model).Failed++
	s.countFailure(c)
}

// detail corrects what was assumed about a call: what it changed, and how long it ran.
func (s *Session) detail(at int64, d detail) {
	i := slices.IndexFunc(s.Done, func(o open) bool { return o.ID == d.id })
	if i < 0 {
		return
	}
	c := &s.Done[i]
	if d.failed && !c.Failed {
		if c.Failed = true; i == len(s.Done)-1 {
			s.LastFailed, s.Turn.Failed = true, cmp.Or(c.Run, c.Tool)
		}
		s.fail(at, c.call)
	}
	if d.known && len(c.Touches) == 1 && c.Touches[0].Writes > 0 {
		t := c.Touches[0]
		s.touch(Touch{Path: t.Path, Entry: t.Entry, Added: d.added - t.Added, Removed: d.removed - t.Removed}, c.At)
		c.Touches[0].Added, c.Touches[0].Removed = d.added, d.removed
	}
	// Before a call begins, a person may have to allow it.
	if ran := min(d.ended-d.began, pause); ran >= 0 && d.ended > 0 && c.At > 0 && len(s.Done) == 1 && d.began-c.At > 2e6 && ran != s.Credit {
		s.work(at, s.Model).Active += ran - s.Credit
		s.tool(at, c.Tool).Active += ran - s.Credit
		s.Credit = ran
	}
}

func (s *Session) touch(t Touch, at int64) {
	t.Path, t.At = inDir(s.Dir, t.Path), at
	for i := range slices.Backward(s.sums.Touches) {
		o := &s.sums.Touches[i]
		if o.Entry != t.Entry {
			break
		}
		if o.Path == t.Path {
			o.Reads, o.Writes, o.Added, o.Removed = o.Reads+t.Reads, o.Writes+t.Writes, o.Added+t.Added, o.Removed+t.Removed
			return
		}
	}
	s.sums.Touches = append(s.sums.Touches, t)
}
