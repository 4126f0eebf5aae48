package agentside

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"tape/cmd/internal/stdio"
	"tape/internal/sessions/importer/record"
	"tape/internal/sessions/resume"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/repo"
)

// Resume goes on with the session on a tape. With show, or as JSON, it only says how. brief writes the page for
// another agent. code is the exit code of the agent.
func Resume(ctx context.Context, s *stdio.Streams, t *repo.Tape, user record.Where, show bool, brief func(context.Context, *repo.Tape) (string, error)) (code int, err error) {
	here, err := filepath.Abs(".")
	if err != nil {
		return 0, err
	}
	p, err := resume.Of(ctx, t, user, here)
	if err != nil {
		return 0, err
	}
	page := ""
	if p.Obstacle != "" {
		if page, err = brief(ctx, t); err != nil {
			return 0, err
		}
	}
	switch {
	case s.JSON:
		return 0, s.Emit(planned(t, p).With("why", p.Obstacle).With("brief", page))
	case p.Obstacle != "":
		s.StderrUnlessQuiet("the session cannot go on here: %s", display.Line(p.Obstacle))
		if p.Moved != "" {
			s.StderrUnlessQuiet("where the project is now, it goes on with: cd %s && tape resume %s --in %s", display.ShellWord(p.Moved), display.ShellWord(t.Name()), p.Agent)
		}
		s.StderrUnlessQuiet("this page is for another agent:")
		s.Page()
		s.Printf("%s", page)
		return 0, s.Written()
	}
	return start(s, p, show)
}

// start starts the agent of a plan in place of this program. With show, it only prints the command.
func start(s *stdio.Streams, p resume.Plan, show bool) (code int, err error) {
	if show {
		s.PrintUnlessQuiet("%s", command(p))
		return 0, nil
	}
	s.StderrUnlessQuiet("%s", command(p))
	if err := s.Flush(); err != nil {
		return 0, err
	}
	if err := os.Chdir(p.Dir); err != nil {
		return 0, layout.NotFound("tape context --brief writes a page for another agent", "%v", err)
	}
	env := append(os.Environ(), "PWD="+p.Dir)
	code, err = stdio.RunInstead(p.Program, p.Command, env)
	return code, layout.Wrap(err, "run %s", p.Program)
}

// CommandOf returns the shell command that resumes the session on a tape, or an error that says why it cannot go on.
func CommandOf(ctx context.Context, t *repo.Tape, user record.Where) (string, error) {
	here, err := filepath.Abs(".")
	if err != nil {
		return "", err
	}
	p, err := resume.Of(ctx, t, user, here)
	if err == nil && p.Obstacle != "" {
		err = errors.New(p.Obstacle)
	}
	if err != nil {
		return "", err
	}
	return command(p), nil
}

// command returns the command of a plan for a shell.
func command(p resume.Plan) string {
	return "cd " + display.ShellWord(p.Dir) + " && " + strings.Join(p.Command, " ") // its words need no quotes, see record.Resume
}
