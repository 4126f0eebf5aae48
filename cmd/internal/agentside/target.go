package agentside

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tape/cmd/internal/stdio"
	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/record"
	"tape/internal/sessions/resume"
	"tape/internal/show/display"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/repo"
)

// Help is the help of tape resume.
const Help = `Start the agent that a session belongs to, in its directory, where it goes on: for example with
claude --resume or codex resume. Without TAPE, the current session is resumed or, if that is
empty, the newest session.

If that is not possible, because the agent is not installed or does not have the session on this
machine, tape resume writes a page to paste into another agent instead: the state at the last
handoff, the last requests and the last answer, and where it stopped.

--in writes the session as one of another agent's own, and starts that agent in the current directory.
It writes messages, calls and results since the last anchor, or since the anchor of --from
(session/start for the whole session). Thoughts are left out, and pictures in results only named.
What the agent adds is recorded on the same tape; tape resume then goes on there.

A session chooses neither the program nor its options nor the directory, so sessions that you pulled
are safe. The directory is the one that the agent itself has noted on this machine; opencode and
Copilot CLI find it themselves, and are started in the current one. A program in the current
directory is not run.

With --print nothing is started, and nothing is written either: with --in, the command that is shown
writes the session. With --json nothing is started: the result has tape, agent, command, dir and
session; or, with an empty command, the reason in why and the page in brief. With --in it has what
was written, too.`

// Target says in which agent a session goes on.
type Target struct {
	Agent string
	From  string // the anchor to begin with; "": what a model would be sent
	title string
}

// Continue is [Resume], or [resumeIn] if in names an agent. facts says what a tape is about.
func Continue(ctx context.Context, s *stdio.Streams, t *repo.Tape, user record.Where, in Target, show bool,
	facts func(context.Context, *repo.Tape) (about.Tape, error), brief func(context.Context, *repo.Tape) (string, error)) (code int, err error) {
	switch {
	case in.Agent == "" && in.From != "":
		return 0, layout.Invalid("name the agent: --in AGENT", "--from needs --in")
	case in.Agent == "":
		return Resume(ctx, s, t, user, show, brief)
	}
	known, err := facts(ctx, t)
	if err != nil {
		return 0, err
	}
	in.title = cmp.Or(known.Given, known.Renamed, known.Called)
	return resumeIn(ctx, s, t, user, in, show)
}

// writers are the formats in which a session can be written.
func writers() importer.Formats {
	return slices.DeleteFunc(importer.All(), func(f *record.Format) bool { return f.Writer == nil })
}

// Agents returns the names of the agents in which a session can go on.
func Agents() []string { return writers().Names() }

// resumeIn goes on with the session on a tape in another agent: it writes the session as that agent's own, and
// starts the agent. With show, it writes and starts nothing; as JSON, it starts nothing. code is the exit code of the agent.
func resumeIn(ctx context.Context, s *stdio.Streams, t *repo.Tape, user record.Where, in Target, show bool) (code int, err error) {
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
	if now.Agent == f.Name && now.Obstacle == "" && in.From == "" { // that agent has the session already
		if s.JSON {
			return 0, s.Emit(planned(t, now))
		}
		return start(s, now, show)
	}
	p := resume.In(f, "", here)
	if p.Obstacle != "" {
		return 0, layout.NotFound("", "the session cannot go on in %s: %s", f.Title, p.Obstacle)
	}
	if show {
		return 0, wouldWrite(ctx, s, t, f, in, here)
	}
	done, err := resume.WriteAs(ctx, t, f, resume.WriteOptions{From: in.From, Title: in.title, Dir: here, User: user, Program: p.Program, Now: time.Now()})
	if err != nil {
		return 0, err
	}
	p = resume.In(f, done.Session, here)
	if s.JSON {
		out := planned(t, p)
		return 0, s.Emit(append(out, stdio.Object{{"file", stdio.OrNull(done.File)}, {"messages", done.Told.Messages}, {"calls", done.Told.Calls},
			{"thoughts_left_out", done.Told.Thoughts}, {"pictures_as_text", done.Told.Pictures}}...))
	}
	s.StderrUnlessQuiet("%s", told("", " written as session "+done.Session+" of "+f.Title, done.Told))
	return start(s, p, show)
}

func planned(t *repo.Tape, p resume.Plan) stdio.Object {
	return stdio.Object{{"tape", t.Name()}, {"agent", stdio.OrNull(p.Agent)}, {"command", p.Command}, {"dir", stdio.OrNull(p.Dir)},
		{"session", stdio.OrNull(p.Session)}, {"lost", []string(nil)}}
}

// wouldWrite says what [resumeIn] would write, and the command that does it. It writes nothing.
func wouldWrite(ctx context.Context, s *stdio.Streams, t *repo.Tape, f *record.Format, in Target, here string) error {
	count, err := resume.CountTold(ctx, t, in.From)
	if err != nil {
		return err
	}
	command := []string{"tape", "resume", t.Name(), "--in", f.Name}
	if workspace, err := repo.Find(here); err != nil || workspace != t.Store().Dir() {
		command = append([]string{"tape", "--workspace", t.Store().Dir()}, command[1:]...)
	}
	if in.From != "" {
		command = append(command, "--from", in.From)
	}
	if s.JSON {
		p := resume.Plan{Agent: f.Name, Dir: here, Command: command}
		return s.Emit(append(planned(t, p), stdio.Object{{"messages", count.Messages}, {"calls", count.Calls},
			{"thoughts_left_out", count.Thoughts}, {"pictures_as_text", count.Pictures}}...))
	}
	s.StderrUnlessQuiet("nothing is written yet; the command writes %s", told("a session of "+f.Title+" with ", "", count))
	for i, word := range command {
		if !strings.HasPrefix(word, "--") {
			command[i] = display.ShellWord(word)
		}
	}
	s.PrintUnlessQuiet("%s", "cd "+display.ShellWord(here)+" && "+strings.Join(command, " "))
	return nil
}

// told says what was written, and what was left out.
func told(before, after string, count resume.Told) string {
	what := before + display.Count(count.Messages, "message", "messages") + " and " + display.Count(count.Calls, "call", "calls") + after
	var lacks []string
	if n := count.Thoughts; n > 0 {
		lacks = append(lacks, display.Count(n, "thought", "thoughts")+" left out")
	}
	if n := count.Pictures; n > 0 {
		lacks = append(lacks, display.Count(n, "picture or document is", "pictures and documents are")+" only named")
	}
	if lacks != nil {
		what += "; " + strings.Join(lacks, ", ")
	}
	return what
}
