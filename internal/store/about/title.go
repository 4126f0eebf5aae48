package about

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
)

const (
	longestTitle   = 100 // characters
	shortParagraph = 16  // bytes; the next paragraph is added to a first one that is not longer
)

// ask takes the title from a message that a person wrote.
func (t *Tape) ask(e layout.Entry) {
	if !e.Hidden() {
		t.Asked = cmp.Or(Prompt(e), task(e))
		t.choose()
	}
}

// inherit takes the title from a request that was copied from another session, in case that the session has none of its
// own.
func (t *Tape) inherit(e layout.Entry) {
	if !e.Hidden() {
		t.Copied = cmp.Or(Prompt(e), t.Copied)
		t.choose()
	}
}

// task returns, as a title, the task that an entry gives to a subagent of Codex, or the task's name if the text is
// encrypted; or what the lead of a team of Claude Code first wrote. It is "" if the entry gives no task.
func task(e layout.Entry) string {
	content := jsonl.Get(e.Payload, "content")
	text, _ := jsonl.String(content)
	for part := range jsonl.Elements(content) {
		text += jsonl.GetString(part, "text")
	}
	if e.Role() == "user" && strings.HasPrefix(text, lead) {
		return assigned(text)
	}
	head, said, _ := strings.Cut(text, "\nPayload:\n")
	if e.Role() != "user" || !strings.HasPrefix(head, "Message Type: NEW_TASK\n") {
		return ""
	}
	_, name, _ := strings.Cut(head, "\nTask name: ")
	name, _, _ = strings.Cut(name, "\n")
	return cmp.Or(headline(said), headline(name[strings.LastIndexByte(name, '/')+1:]))
}

// lead is what a message begins with that the lead of a team of Claude Code sends to another of its agents.
const lead = `<teammate-message teammate_id="team-lead"`

// assigned returns, as a title, what the lead of a team wants: the subject of a task, the summary or the beginning of a text;
// "" for a note such as one to shut down.
func assigned(text string) string {
	tag, said, _ := strings.Cut(text, ">")
	said, _, _ = strings.Cut(said, "</teammate-message>")
	said = strings.TrimSpace(said)
	if note := []byte(said); jsonl.IsObject(note) {
		return headline(jsonl.GetString(note, "subject"))
	}
	_, summary, _ := strings.Cut(tag, ` summary="`)
	summary, _, _ = strings.Cut(summary, `"`)
	return cmp.Or(headline(summary), headline(said))
}

// Prompt returns what a person asked in an entry, as a title: one line, cut to length. It is "" if
// the entry is not a person's message.
func Prompt(e layout.Entry) (title string) { return headline(request(e)) }

// IsPrompt reports whether an entry is a person's message. It takes less time than Prompt.
func IsPrompt(e layout.Entry) bool { return request(e) != "" }

// request returns what a person asked in an entry.
func request(e layout.Entry) (said string) {
	if e.Role() != "user" {
		return ""
	}
	origin := jsonl.Get(e.Meta, "source", "extra", "origin")
	if command := Activation(origin); command != "" {
		return command
	}
	noted, typed := source(e)
	if noted && !typed {
		return ""
	}
	content := jsonl.Get(e.Payload, "content")
	if text, ok := jsonl.String(content); ok {
		return asked(text, typed)
	}
	skills := len(slices.Collect(jsonl.Elements(jsonl.Get(origin, "skillActivations")))) // Kimi Code puts their texts first
	for part := range jsonl.Elements(content) {
		if skills--; skills >= 0 {
			continue
		}
		if string(jsonl.Get(part, "synthetic")) == "true" { // opencode
			continue
		}
		text, _ := jsonl.String(jsonl.Get(part, "text"))
		if said = asked(text, typed); said != "" {
			break
		}
	}
	return said
}

// Activation returns the command with which a person made Kimi Code load the text of a skill, or of a command of a plugin,
// such as "/deploy staging"; "" for any other origin of a message, also if the model loaded it.
func Activation(origin []byte) string {
	if jsonl.GetString(origin, "trigger") != "user-slash" {
		return ""
	}
	name, args := jsonl.GetString(origin, "skillName"), jsonl.GetString(origin, "skillArgs")
	if command := jsonl.GetString(origin, "commandName"); command != "" {
		name, args = jsonl.GetString(origin, "pluginId")+":"+command, jsonl.GetString(origin, "commandArgs")
	}
	if name == "" {
		return ""
	}
	return strings.TrimSpace("/" + name + " " + args)
}

// source reports whether the agent has noted who wrote a user's message, and whether that was a person.
func source(e layout.Entry) (noted, typed bool) {
	extra := jsonl.Get(e.Meta, "source", "extra")
	if extra == nil {
		return false, false
	}
	kind := cmp.Or(jsonl.GetString(extra, "origin", "kind"), jsonl.GetString(extra, "queued", "origin", "kind"))
	if kind != channel && (string(jsonl.Get(extra, "isMeta")) == "true" || string(jsonl.Get(extra, "promptSource")) == `"system"`) {
		return true, false
	}
	return kind != "", kind != "" && IsPersons(kind)
}

// IsPersons reports whether Claude Code gives a message of a person an origin of this kind; people also write by channels,
// such as Telegram. Others are from the program or from other agents: task-notification, auto-continuation, peer,
// coordinator (seen with version 2.1.266). Kimi Code calls a person user.
func IsPersons(kind string) bool { return kind == "human" || kind == "user" || kind == channel }

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// pasted is the tag that Claude Code puts around what a person pasted, channel the one around what a person wrote elsewhere.
// A message from a channel is always marked isMeta, too.
const (
	pasted  = "pasted_content"
	channel = "channel"
)

// programTags are the beginnings of the tags that Claude Code puts into what a person typed.
var programTags = []string{"system-", "command-", "local-command-", "bash-", "ide_", "task-", "user-prompt-", "session-start-"}

// injected returns the name of the tag that a text begins with, if a program put the text there;
// else "". Programs write texts of their own into the user's messages, mostly in tags with a
// hyphen or underscore in their names, which HTML's tags do not have. If a person is known to have typed
// the text, other tags are that person's.
func injected(text string, typed bool) string {
	name, ok := strings.CutPrefix(text, "<")
	end := strings.IndexAny(name, " >")
	if !ok || end < 0 {
		return ""
	}
	if name = name[:end]; name == channel && typed {
		return name
	}
	sign := strings.TrimLeft(name, letters)
	if name != "INSTRUCTIONS" && name != "skill" && (sign == name || len(sign) < 2 || strings.Trim(sign, letters+"-_") != "") {
		return ""
	}
	if typed && name != pasted && !slices.ContainsFunc(programTags, func(tag string) bool { return strings.HasPrefix(name, tag) }) {
		return ""
	}
	return name
}

// programTexts are the beginnings of texts that programs write in the user's name.
var programTexts = []string{
	"[Request interrupted", "Caveat: The messages below", "This session is being continued from a previous conversation",
	"# AGENTS.md instructions", "Base directory for this skill:", "[Image: ", "<image name=[", "<image>", "</image>",
	"Stop hook feedback:", "Read the output file to retrieve the result: ", "Full transcript available at: ", // Claude Code
	"Message Type: ",                                                                          // Codex: another agent
	"I ran the following shell command:", "You have stopped calling tools without finishing.", // Gemini CLI
	"Continue if you have next steps, or stop and ask for clarification", // opencode
}

// editorHeading is what an editor puts between the list of open files and the question.
const editorHeading = "## My request for Codex:"

// ByPerson reports whether the text of a user's message is a person's request, not a text of a program or a command
// such as /review.
func ByPerson(text string) bool { return asked(text, false) != "" }

// IsCommand reports whether a text is a command for the agent's program, such as /review the branch.
func IsCommand(text string) bool { return isSlashCommand(strings.TrimSpace(text)) }

// asked returns what a person asked in a text; "" if a program wrote all of it, or if it is a command that the program
// runs itself, such as /model. Other commands ask for something: /review the branch.
func asked(text string, typed bool) string {
	if _, after, ok := strings.Cut(text, editorHeading); ok {
		text = after
	}
	for {
		text = strings.TrimSpace(text)
		if command := SentCommand(text); command != "" {
			return command
		}
		tag := injected(text, typed)
		if tag == "" {
			break
		}
		if tag == pasted || tag == channel { // by a person: what was said after it, else what is in it
			_, inner, _ := strings.Cut(text, ">")
			inner, after, _ := strings.Cut(inner, "</"+tag+">")
			text = cmp.Or(strings.TrimSpace(after), strings.TrimSpace(inner))
			continue
		}
		_, after, closed := strings.Cut(text, "</"+tag+">")
		if !closed {
			return ""
		}
		text = after
	}
	for _, start := range programTexts {
		if strings.HasPrefix(text, start) {
			return ""
		}
	}
	if name := slashCommand(text); name != "" && isLocal(name) {
		return ""
	}
	return text
}

// squeeze puts the beginning of a text on one line, cut at the end of a word.
func squeeze(text string) string {
	const enough = (longestTitle + 1) * utf8.UTFMax
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if b.Len() > enough || line == "" && b.Len() > shortParagraph {
			break
		}
		for _, word := range strings.Fields(line[:min(len(line), 4*enough)]) {
			b.WriteByte(' ')
			b.WriteString(word)
		}
	}
	words := strings.ToValidUTF8(strings.TrimSpace(b.String()), "")
	n, space, full := 0, 0, 0
	for i, r := range words {
		if n == longestTitle {
			return strings.TrimRightFunc(words[:cmp.Or(space, full)], unicode.IsPunct) + "…"
		}
		n++
		full = i + utf8.RuneLen(r)
		if r == ' ' && n > longestTitle/2 {
			space = i
		}
	}
	return words
}
