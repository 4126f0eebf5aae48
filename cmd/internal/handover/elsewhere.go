package handover

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tape/cmd/internal/stdio"
	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/record"
	"tape/internal/sessions/resume"
	"tape/internal/sessions/transfer"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/repo"
)

// Elsewhere says in which agent a session goes on.
type Elsewhere struct {
	Agent string
	From  string // the anchor to begin with; "": what a model would be sent
	Title string
}

// writers are the formats in which a session can be written.
func writers() importer.Formats {
	return slices.DeleteFunc(importer.All(), func(f *record.Format) bool { return f.Writer == nil })
}

// Agents returns the names of the agents in which a session can go on.
func Agents() []string { return writers().Names() }

// ResumeIn goes on with the session on a tape in another agent: it writes the session as that agent's own, and
// starts the agent. With show, or as JSON, it starts nothing. code is the exit code of the agent.
func ResumeIn(ctx context.Context, s *stdio.Streams, t *repo.Tape, user record.Where, in Elsewhere, show bool) (code int, err error) {
	f := writers().Find(in.Agent)
	if f == nil {
		return 0, layout.Invalid("the agents are: "+strings.Join(Agents(), ", "), "sessions cannot be written for %s", display.Quoted(in.Agent))
	}
	here, err := filepath.Abs(".")
	if err != nil {
		return 0, err
	}
	if real, err := filepath.EvalSymlinks(here); err == nil {
		here = real // agents name their folders after that
	}
	now, err := resume.Of(ctx, t, user, here)
	if err != nil {
		return 0, err
	}
	if now.Agent == f.Name && now.Why == "" && in.From == "" { // it is there already
		if s.JSON {
			return 0, s.Emit(planned(t, now))
		}
		return start(s, now, show)
	}
	p := resume.In(f, "", here)
	if p.Why != "" {
		return 0, layout.NotFound("", "the session cannot go on in %s: %s", f.Title, p.Why)
	}
	done, err := transfer.Write(ctx, t, f, transfer.Options{From: in.From, Title: in.Title, Dir: here, User: user, Program: p.Program, Now: time.Now()})
	if err != nil {
		return 0, err
	}
	p = resume.In(f, done.Session, here)
	if s.JSON {
		out := planned(t, p)
		return 0, s.Emit(append(out, stdio.Object{{"file", stdio.OrNull(done.File)}, {"messages", done.Told.Messages}, {"calls", done.Told.Calls},
			{"thoughts_left_out", done.Told.Thoughts}, {"pictures_as_text", done.Told.Pictures}}...))
	}
	s.StderrUnlessQuiet("%s", told(f, done))
	return start(s, p, show)
}

func planned(t *repo.Tape, p resume.Plan) stdio.Object {
	return stdio.Object{{"tape", t.Name()}, {"agent", stdio.OrNull(p.Agent)}, {"command", p.Command}, {"dir", stdio.OrNull(p.Dir)},
		{"session", stdio.OrNull(p.Session)}, {"lost", []string(nil)}}
}

// told says what was written, and what not.
func told(f *record.Format, done transfer.Done) string {
	what := display.Count(done.Told.Messages, "message", "messages") + " and " + display.Count(done.Told.Calls, "call", "calls") + " written as session " + done.Session + " of " + f.Title
	var lacks []string
	if n := done.Told.Thoughts; n > 0 {
		lacks = append(lacks, display.Count(n, "thought", "thoughts")+" left out")
	}
	if n := done.Told.Pictures; n > 0 {
		lacks = append(lacks, display.Count(n, "picture or document is", "pictures and documents are")+" only named")
	}
	if lacks != nil {
		what += "; " + strings.Join(lacks, ", ")
	}
	return what
}
