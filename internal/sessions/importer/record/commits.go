package record

import (
	"bytes"
	"slices"
	"strings"

	"tape/internal/text/jsonl"
)

// EventCommit is the event for a commit that the agent made in the project: its id as git printed
// it, and its subject.
const EventCommit = "project.commit"

const (
	maxCommits     = 100     // of one result
	longestSubject = 4 << 10 // bytes of the line
	shortestID     = 7       // digits; git prints fewer only if it is configured so
)

type commit struct{ id, subject string }

// commitEvents makes the events of the commits that a call's result shows.
func (r *Reading) commitEvents(fork string, call *pending) (events []Entry) {
	for i, c := range call.commits {
		key := BlockKey(call.result.Key+"/commit", i)
		if r.Seen(fork, key) {
			continue
		}
		data := NewObject(len(c.subject)+64).Str("id", c.id).Str("subject", c.subject)
		p := Event(key, call.result.Date, EventCommit, data.Done())
		p.Fork, p.Hidden = fork, call.result.Hidden
		events = append(events, p)
	}
	return events
}

// commitsIn finds the lines that git prints for a new commit, such as "[main 1a2b3c4] subject". If the
// call is unknown, or runs a script, such a line needs the count of changed files below it.
func commitsIn(input, content []byte) (found []commit) {
	if !bytes.Contains(content, []byte("] ")) {
		return nil
	}
	named := namesCommit(input)
	if !named && input != nil && !isCommand(input) {
		return nil
	}
	eachText(content, func(text string) {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			c, ok := parseCommit(line)
			if ok && len(found) < maxCommits && (named || countFollows(lines[i+1:])) {
				found = append(found, c)
			}
		}
	})
	return found
}

// namesCommit reports whether a call's input has a git command that makes a commit.
func namesCommit(input []byte) bool {
	_, after, ok := bytes.Cut(input, []byte("git"))
	return ok && slices.ContainsFunc([]string{"commit", "cherry-pick", "revert"}, func(name string) bool { return bytes.Contains(after, []byte(name)) })
}

// isCommand reports whether a call runs a command, by the names that agents have for its argument.
func isCommand(input []byte) bool {
	return slices.ContainsFunc([]string{"command", "cmd", "chars", "input"}, func(name string) bool { return jsonl.Get(input, name) != nil })
}

// parseCommit parses a line that git prints for a new commit: "[BRANCH ID] SUBJECT". The branch may also be
// "detached HEAD", and "(root-commit)" may follow it.
func parseCommit(line string) (c commit, ok bool) {
	if len(line) > longestSubject {
		return c, false
	}
	line = strings.TrimPrefix(line, "Output: ") // Gemini CLI adds this
	head, subject, ok := strings.Cut(line, "] ")
	space := strings.LastIndexByte(head, ' ')
	if !ok || head == "" || head[0] != '[' || space < 2 || !isCommitID(head[space+1:]) {
		return c, false
	}
	return commit{head[space+1:], strings.TrimSpace(subject)}, true
}

func isCommitID(s string) bool {
	return len(s) >= shortestID && len(s) <= 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// countFollows reports whether the next line has the count of changed files. An unusual author or
// date may come before it.
func countFollows(lines []string) bool {
	for _, line := range lines {
		count := strings.TrimLeft(line, " 0123456789")
		if strings.HasPrefix(line, " ") && (strings.HasPrefix(count, "file changed") || strings.HasPrefix(count, "files changed")) {
			return true
		}
		if !slices.ContainsFunc([]string{" Author: ", " Date: ", " Committer: "}, func(name string) bool { return strings.HasPrefix(line, name) }) {
			return false
		}
	}
	return false
}

// eachText calls use with the strings of a result. For a string that is a JSON object, these are the
// strings in that object.
func eachText(v []byte, use func(text string)) {
	eachString(v, func(text string) {
		if inside := []byte(text); strings.HasPrefix(text, "{") && jsonl.Valid(inside) == nil {
			eachText(inside, use)
		} else {
			use(text)
		}
	})
}

// eachString calls use with the strings of a JSON value, without the names of its fields.
func eachString(v []byte, use func(text string)) {
	switch {
	case len(v) == 0:
	case v[0] == '{':
		for _, v := range jsonl.Fields(v) {
			eachString(v, use)
		}
	case v[0] == '[':
		for v := range jsonl.Elements(v) {
			eachString(v, use)
		}
	case v[0] == '"':
		use(Text(v))
	}
}
