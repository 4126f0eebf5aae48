package importer

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/store/about"
	"tape/internal/store/activity"
	"tape/internal/store/commits"
	"tape/internal/store/layout"
	"tape/internal/text/secrets"
)

// turn is what was asked and done since the last prompt, for the message of the commit that has it. Many more people
// see that than the entries, so secrets are masked in it, as they are in README.md.
type turn struct {
	secrets   func() *secrets.Scanner
	asked     string // the request, as a subject; "" before the first one
	committed bool   // a commit has the beginning of the turn
	open      bool   // nothing has committed the turn yet
	more      int    // how many turns the next commit has besides
	done      activity.Session
}

// begin begins the turn of a prompt, which is the next entry.
func (t *turn) begin(e layout.Entry) {
	if t.open { // the commit of the turn before has this one, too
		t.more++
		return
	}
	*t = turn{secrets: t.secrets, open: true, asked: about.TurnSubject(e, t.secrets()), done: activity.Session{Dir: t.done.Dir}}
}

// opening takes the state of a session's first anchor into account, which may name the session's directory.
func (t *turn) opening(state json.RawMessage) {
	payload := record.NewObject(len(state)+64).Str("name", layout.FirstAnchor).Raw("state", state).Done()
	t.done.Add(1, 0, activity.Read(layout.Entry{ID: 1, Kind: layout.KindAnchor, Anchor: layout.FirstAnchor, Payload: payload}), false)
}

// know takes an entry into account that is committed already.
func (t *turn) know(e layout.Entry) {
	switch {
	case e.Kind == layout.KindAnchor:
		t.add(e)
	case about.IsPrompt(e):
		t.open = false
		t.begin(e)
		t.committed, t.open = true, false
	}
}

func (t *turn) add(e layout.Entry) {
	at, dated := e.Time()
	micro := int64(0)
	if dated {
		micro = at.UnixMicro()
	}
	t.done.Add(e.ID, micro, activity.Read(e), e.Copied())
}

// message returns the message of the commit that has what was done since the last one.
func (t *turn) message(entries int) string {
	sums, again, more := t.done.Take(), t.committed, t.more
	t.committed, t.open, t.more = true, false, 0
	subject := t.asked
	if more > 0 && subject != "" {
		subject += fmt.Sprintf("%s%d more)", about.AndMore, more)
	}
	switch {
	case subject == "":
		return commits.CheckpointSubject(entries)
	case again:
		subject = about.Continued + subject
	}
	if body := t.body(sums); body != "" {
		return subject + "\n\n" + body
	}
	return subject
}

const maxLine = 200 // characters of a line of the body

// body says what was done: files, failures, commits, and how the turn ended.
func (t *turn) body(sums activity.Sums) string {
	var out []string
	say := func(label string, list []string) {
		if len(list) > 0 {
			out = append(out, label+about.Brief(strings.Join(list, ", "), maxLine, t.secrets()))
		}
	}
	var files, failed, made []string
	for _, f := range sums.Touches {
		if name := layout.OneLine(inDir(t.done.Dir, f.Path)); f.Writes > 0 && !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	for _, tool := range sums.Tools {
		if tool.Failed > 0 {
			failed = append(failed, fmt.Sprintf("%s (%d)", layout.OneLine(tool.Name), tool.Failed))
		}
	}
	for _, step := range sums.Steps {
		if step.Commit {
			made = append(made, layout.OneLine(step.Text))
		}
	}
	say("Changed: ", files)
	say("Failed calls: ", failed)
	say("Commits: ", made)
	switch t.done.Ending {
	case activity.Interrupted:
		out = append(out, "Interrupted")
	case activity.Failed:
		out = append(out, "Ended with an error")
	}
	return strings.Join(out, "\n")
}

// inDir returns a path relative to the session's directory, if it is in there.
func inDir(dir, name string) string {
	if rest, ok := strings.CutPrefix(name, strings.TrimSuffix(dir, "/")+"/"); ok && dir != "" {
		return path.Clean(rest)
	}
	return name
}
