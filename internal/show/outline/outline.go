// Package outline sums up a session for somebody who opens it: what was asked, how it ended, its turns with their
// calls, time and tokens, the files, failed calls and commits, and where these are in time. It reads the entries once,
// wherever they come from, and returns plain data.
package outline

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"tape/internal/show/conversation"
	"tape/internal/store/about"
	"tape/internal/store/activity"
	"tape/repo"
)

// Outline is the sum of a session. Its texts are as they were recorded.
type Outline struct {
	Entries   int64
	Asked     Text // the first request
	Answer    Text // the last answer
	Ending    activity.Ending
	Turns     []Turn
	Total     Turn // without Entry, Asked and At
	Models    []Model
	Tools     []Tool
	Files     []File // the changed ones, then those only read; both in the order of their paths
	Failed    []Failure
	Missing   int      // failures beyond those in Failed
	Commits   []string // id and subject of each
	Phases    []Phase
	Subagents []Subagent // subagents whose entries are in the session
	Strip     Strip
}

// Text is a text of a message.
type Text struct {
	Entry int64
	At    time.Time
	Text  string
}

// Turn is a request with all that was done about it.
type Turn struct {
	Entry         int64
	Asked         string // a line
	At            time.Time
	Active        time.Duration
	Calls, Failed int64
	Tokens        activity.Tokens
}

// Model is a model with the tokens that it used.
type Model struct {
	Name   string
	Tokens activity.Tokens
}

// Tool is a tool with its calls, and the time in which it was active.
type Tool struct {
	Name          string
	Calls, Failed int64
	Active        time.Duration
}

// File is a file that the session read or changed.
type File struct {
	Path           string
	Reads, Writes  int64
	Added, Removed int64 // lines
}

// Failure is a call that failed.
type Failure struct {
	Entry       int64
	Tool, Brief string
	Took        time.Duration
	Command     bool
}

// Phase is a phase with its times and tokens.
type Phase struct {
	Seq            int
	Name           string
	First, Entries int64
	From, To       time.Time
	Tokens         int64
}

// Limits of what an outline has.
const (
	maxFailed  = 200
	maxBrief   = 400 // bytes
	maxAnswer  = 8 << 10
	maxPerName = 2000 // phases, commits, subagents
)

// Of sums up the entries of a session, which come in the order of their ids.
func Of(ctx context.Context, entries iter.Seq2[repo.Entry, error]) (*Outline, error) {
	b := &builder{files: map[string]*File{}, models: map[string]*activity.Tokens{}, tools: map[string]*Tool{}, tasks: map[string]string{}, waits: map[string]time.Duration{}, callOf: map[string]string{}}
	read := func(yield func(repo.Entry, error) bool) {
		for e, err := range entries {
			if err == nil {
				b.add(e)
			}
			if !yield(e, err) {
				return
			}
		}
	}
	if err := conversation.Each(ctx, read, b.item); err != nil {
		return nil, err
	}
	b.take()
	return b.finish(), nil
}

type builder struct {
	out    Outline
	done   activity.Session
	turn   *Turn // the current one; nil before the first
	answer *repo.Entry
	files  map[string]*File
	models map[string]*activity.Tokens
	tools  map[string]*Tool
	tasks  map[string]string        // of subagents, by the calls that started them
	callOf map[string]string        // the call that started a subagent, by the subagent's id
	waits  map[string]time.Duration // how long the calls that started subagents took, by tool: the least time that it was active
	axis   axis
}

func (b *builder) add(e repo.Entry) {
	at, dated := e.Time()
	b.out.Entries = e.ID
	b.axis.add(e.ID, at, dated)
	b.phase(e, at, dated)
	b.helper(e)
	b.noteStart(e)
	if e.Kind == repo.KindMessage {
		b.message(e, at)
	}
	if e.Kind == repo.KindError {
		b.axis.mark(e.ID, Error)
	}
	micro := int64(0)
	if dated {
		micro = at.UnixMicro()
	}
	b.done.Add(e.ID, micro, activity.Read(e), e.Copied())
}

// message begins a turn with a request, and keeps the last answer.
func (b *builder) message(e repo.Entry, at time.Time) {
	if e.Hidden() {
		return
	}
	switch e.Role() {
	case "user":
		asked := about.Prompt(e)
		if asked == "" {
			return
		}
		b.take()
		if b.out.Asked.Entry == 0 {
			b.out.Asked = Text{e.ID, at, cut(conversation.WithoutContext(conversation.Of(e).Text()), maxAnswer)}
		}
		b.out.Turns = append(b.out.Turns, Turn{Entry: e.ID, Asked: asked, At: at})
		b.turn = &b.out.Turns[len(b.out.Turns)-1]
		b.axis.mark(e.ID, Prompt)
	case "assistant":
		b.answer = &e
	}
}

// phase notes which phase an entry is in.
func (b *builder) phase(e repo.Entry, at time.Time, dated bool) {
	n := len(b.out.Phases)
	if n == 0 || b.out.Phases[n-1].Seq != e.AnchorSeq {
		if n == maxPerName {
			return
		}
		b.out.Phases = append(b.out.Phases, Phase{Seq: e.AnchorSeq, Name: e.Anchor, First: e.ID})
		if n++; n > 1 {
			b.axis.mark(e.ID, Handoff)
		}
	}
	p := &b.out.Phases[n-1]
	p.Entries++
	if dated {
		if p.From.IsZero() {
			p.From = at
		}
		p.To = at
	}
	if u, ok := about.UsageOf(e); ok && u.TotalTokens != nil {
		p.Tokens += *u.TotalTokens
	}
}

// item counts the calls of subagents, and notes which calls failed.
func (b *builder) item(it *conversation.Item) error {
	if h := b.out.SubagentOf(conversation.Fork(it.Entry)); h != nil {
		h.Calls += len(it.Calls)
	}
	b.noteTasks(it)
	for _, c := range it.Calls {
		if !c.Failed() {
			b.axis.mark(it.Entry.ID, Call)
			continue
		}
		b.axis.mark(it.Entry.ID, Error)
		if len(b.out.Failed) == maxFailed {
			b.out.Missing++
			continue
		}
		b.out.Failed = append(b.out.Failed, Failure{Entry: it.Entry.ID, Tool: c.Name, Brief: cut(c.Brief(), maxBrief), Took: c.Took(),
			Command: activity.DoingOf(c.Name, c.Object()).Effect == activity.Runs})
	}
	return nil
}

// take adds to the current turn and to the sums what was done since take last ran.
func (b *builder) take() {
	sums := b.done.Take()
	for _, w := range sums.Work {
		for _, t := range []*Turn{&b.out.Total, b.turn} {
			if t == nil {
				continue
			}
			t.Active += time.Duration(w.Active) * time.Microsecond
			t.Calls, t.Failed = t.Calls+w.Calls, t.Failed+w.Failed
			t.Tokens.Add(w.Tokens)
		}
		model := cmp.Or(w.Model, b.done.Model)
		if b.models[model] == nil {
			b.models[model] = &activity.Tokens{}
		}
		b.models[model].Add(w.Tokens)
	}
	for _, t := range sums.Tools {
		if b.tools[t.Name] == nil {
			b.tools[t.Name] = &Tool{Name: t.Name}
		}
		sum := b.tools[t.Name]
		sum.Calls, sum.Failed, sum.Active = sum.Calls+t.Calls, sum.Failed+t.Failed, sum.Active+time.Duration(t.Active)*time.Microsecond
	}
	for _, t := range sums.Touches {
		if b.files[t.Path] == nil {
			b.files[t.Path] = &File{Path: t.Path}
		}
		f := b.files[t.Path]
		f.Reads, f.Writes, f.Added, f.Removed = f.Reads+t.Reads, f.Writes+t.Writes, f.Added+t.Added, f.Removed+t.Removed
	}
	for _, s := range sums.Steps {
		if s.Commit && len(b.out.Commits) < maxPerName && !slices.Contains(b.out.Commits, s.Text) {
			b.out.Commits = append(b.out.Commits, s.Text)
		}
	}
}

func (b *builder) finish() *Outline {
	o := &b.out
	o.Ending = b.done.Ending
	if b.answer != nil {
		at, _ := b.answer.Time() // zero: unknown
		o.Answer = Text{b.answer.ID, at, cut(conversation.Of(*b.answer).Text(), maxAnswer)}
	}
	for name, t := range b.models {
		if *t != (activity.Tokens{}) {
			o.Models = append(o.Models, Model{name, *t})
		}
	}
	slices.SortStableFunc(o.Models, func(x, y Model) int {
		return cmp.Or(cmp.Compare(y.Tokens.Output, x.Tokens.Output), cmp.Compare(x.Name, y.Name))
	})
	for t := range maps.Values(b.tools) {
		t.Active = max(t.Active, b.waits[t.Name])
		o.Tools = append(o.Tools, *t)
	}
	slices.SortStableFunc(o.Tools, func(x, y Tool) int { return cmp.Or(cmp.Compare(y.Calls, x.Calls), cmp.Compare(x.Name, y.Name)) })
	for f := range maps.Values(b.files) {
		o.Files = append(o.Files, *f)
	}
	changed := func(f File) int { return int(min(f.Writes, 1)) }
	slices.SortStableFunc(o.Files, func(x, y File) int {
		return cmp.Or(cmp.Compare(changed(y), changed(x)), cmp.Compare(x.Path, y.Path))
	})
	b.setTasks()
	o.Strip = b.axis.strip()
	return o
}

// Changed are the files that were changed, with the sums of their lines.
func (o *Outline) Changed() (files []File, added, removed int64) {
	for _, f := range o.Files {
		if f.Writes > 0 {
			files, added, removed = append(files, f), added+f.Added, removed+f.Removed
		}
	}
	return files, added, removed
}

// FailedCommands are the commands in Failed, the longest first.
func (o *Outline) FailedCommands() []Failure {
	out := slices.DeleteFunc(slices.Clone(o.Failed), func(f Failure) bool { return !f.Command })
	slices.SortStableFunc(out, func(x, y Failure) int { return cmp.Compare(y.Took, x.Took) })
	return out
}

// TurnOf returns the turn that begins with an entry; nil if none does.
func (o *Outline) TurnOf(entry int64) *Turn {
	i, ok := slices.BinarySearchFunc(o.Turns, entry, func(t Turn, id int64) int { return cmp.Compare(t.Entry, id) })
	if !ok {
		return nil
	}
	return &o.Turns[i]
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xc0 == 0x80 {
		most--
	}
	return text[:most] + "…"
}
