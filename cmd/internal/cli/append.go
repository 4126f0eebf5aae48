package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/repo"
)

type appendOptions struct {
	app     *App
	kind    string
	payload string
	text    string
	role    string
	meta    string
	date    string
	anchor  string

	artifact, mimeType string

	stdin   bool
	partial bool
	each    bool
	dash    bool // the payload comes from standard input

	changed func(flag string) bool
}

func newAppendCmd(a *App) *cobra.Command {
	o := &appendOptions{app: a}
	cmd := &cobra.Command{
		Use:   "append [--kind KIND] [--payload JSON | --text TEXT [--role ROLE] | -] [--artifact FILE]",
		Short: "Append an entry, or a stream of them",
		Long: `Append one entry to the tape. When the command returns, the entry survives a power cut.

The payload is a JSON object, given with --payload or read from standard input (-). With --text
the entry is a message. Known kinds are system, message, tool_call, tool_result, event and
error. Their payloads are checked: for example, a message needs a role and content, an event a
name. docs/format.md has the rules. Kinds and roles of your own are accepted with --payload,
unless they look like a misspelt known one (mesage). Use tape handoff to write anchors. If git
knows you by another name than the author of the tape's first commit, meta.author has your
name.

With --artifact, the content of a file becomes part of the tape, stored beside its entries, and
the entry refers to it under the key artifact. Without --text and --payload, the entry has only
this reference, and its kind is artifact. The type is detected from the content unless --type
gives it. tape artifact lists and reads artifacts.

With --stdin, standard input is a stream of entries, one JSON object per line, with the members
kind and payload, and optionally meta and date. Either all of them are appended, or none if one
is invalid. With --partial, the valid ones are appended, and the others are reported by line
number (exit code 2).

With --stdin --each, every line is appended separately, for as long as the stream is open. So a
program that records needs only one process. The answers come in the order of the lines, each
once its entry would survive a power cut: @17, or {"id":17} with --json. If a line cannot be
appended, the answer is {"error":{…}} with --json, and otherwise a message on standard error;
the stream continues, and the exit code at the end is not 0. Empty lines get no answer. It is
faster to send lines without waiting for each answer, because lines that have arrived are
synced together. Between lines, other processes can append, hand off and fork as usual.
Settings are read once, at the beginning.`,
		Example: `  tape append --text "why is the build red?" --role user
  git log -1 --format=%B | tape append --text - --role user
  tape append --kind event --payload '{"name":"run","data":{"seconds":3}}'
  tape append --kind tool_result - <result.json
  tape append --artifact build.log --text "why does it fail?"
  tape append --stdin <entries.jsonl
  my-agent | tape append --stdin --each --json`,
		Args:    takes(0, "-"),
		PreRunE: o.check,
		RunE: a.onTape(func(ctx context.Context, t *repo.Tape, _ []string) error {
			stream := streamOptions{Anchor: o.anchor, Partial: o.partial}
			switch {
			case o.each:
				return appendEach(ctx, &o.app.Streams, t, stream)
			case o.stdin:
				return appendStream(ctx, &o.app.Streams, t, stream)
			}
			return o.run(ctx, t)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.kind, "kind", "", "the entry's `KIND` (default message, with --text)")
	f.StringVar(&o.payload, "payload", "", "the payload, a `JSON` object")
	f.StringVar(&o.text, "text", "", "the `TEXT` of a message; - reads it from standard input")
	f.StringVar(&o.role, "role", "user", "the `ROLE` of a message")
	f.StringVar(&o.meta, "meta", "", "the meta data, a `JSON` object")
	f.StringVar(&o.date, "date", "", "the entry's `DATE`, in your time zone if it names none (default now)")
	f.StringVar(&o.anchor, "anchor", "", "append only if the phase of this `ANCHOR` is open; exit code 4 if another one is")
	f.StringVar(&o.artifact, "artifact", "", "add the content of a `FILE`, and refer to it")
	f.StringVar(&o.mimeType, "type", "", "the MIME `TYPE` of the artifact (default: by its content)")
	f.BoolVar(&o.stdin, "stdin", false, "append the entries on standard input, one a line")
	f.BoolVar(&o.partial, "partial", false, "with --stdin: keep the good lines, report the bad ones")
	f.BoolVar(&o.each, "each", false, "with --stdin: append and answer each line by itself")
	exclude(cmd, "stdin", "kind", "payload", "text", "role", "meta", "date", "artifact", "type") // each line is a whole entry
	cmd.MarkFlagsMutuallyExclusive("each", "partial")
	return cmd
}

func (o *appendOptions) check(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && args[0] != "-" {
		return usagef("unexpected argument %s; a payload is given with --payload, or with - from standard input", quoted(args[0]))
	}
	o.dash, o.changed = len(args) > 0, cmd.Flags().Changed
	if o.each && !o.stdin {
		return usagef("--each needs --stdin")
	}
	if o.stdin {
		if o.dash {
			return usagef("give --stdin for a stream of entries, or - for one payload")
		}
		return nil
	}
	payload, text := o.changed("payload"), o.changed("text")
	if o.artifact != "" && !payload && !text && !o.dash {
		payload, o.payload = true, "{}"
		o.kind = cmp.Or(o.kind, "artifact")
	}
	switch {
	case o.changed("artifact") && o.artifact == "":
		return usagef("--artifact is empty")
	case o.changed("type") && o.artifact == "":
		return usagef("--type needs --artifact")
	case o.partial:
		return usagef("--partial needs --stdin")
	case !payload && !text && !o.dash:
		return usagef("there is nothing to append: give --text, --payload or -, or --stdin for a stream")
	case payload && text, payload && o.dash, text && o.dash:
		return usagef("--text, --payload and - exclude each other; --text - reads the text from standard input")
	case o.changed("kind") && o.kind == "":
		return usagef("--kind is empty")
	case !text && o.kind == "":
		return usagef("--kind is missing: it says what the payload is")
	case !text && o.changed("role"):
		return usagef("--role needs --text")
	case text && strings.TrimSpace(o.text) == "":
		return usagef("--text is empty")
	case text && o.kind != "" && o.kind != repo.KindMessage && o.kind != repo.KindSystem:
		return usagef("--text makes a message; give --payload for an entry of kind %s", quoted(o.kind))
	}
	if text && !slices.Contains(slices.Concat(layout.KnownRoles(), layout.OtherRoles()), o.role) {
		hint := "the roles are: " + strings.Join(layout.KnownRoles(), ", ") + "; one of your own is given with --kind message --payload"
		if meant := layout.SimilarRole(o.role); meant != "" {
			hint = didYouMean([]string{meant})
		}
		return layout.Invalid(hint, "there is no role %s", quoted(o.role))
	}
	for _, flag := range [][2]string{{"kind", o.kind}, {"text", o.text}, {"role", o.role}} {
		if !utf8.ValidString(flag[1]) {
			return layout.Invalid("", "--%s is not valid UTF-8", flag[0])
		}
	}
	return nil
}

// draft makes the entry. Append checks its payload.
func (o *appendOptions) draft(payload []byte) repo.Draft {
	var d repo.Draft
	switch {
	case payload != nil:
		d = repo.Draft{Kind: o.kind, Payload: payload}
	case o.kind == repo.KindSystem:
		d = repo.System(o.text)
	default:
		d = repo.Message(o.role, o.text)
	}
	if o.changed("meta") {
		d.Meta = json.RawMessage(o.meta)
	}
	d.Date = o.app.withZone(o.date)
	return d
}

// inputTooLong says that standard input does not fit into an entry.
func inputTooLong(maxLine int) error {
	return layout.Invalid("", "standard input is longer than max_line allows, which is %d bytes", maxLine).Try(layout.RaiseMaxLine)
}

func (o *appendOptions) run(ctx context.Context, t *repo.Tape) (err error) {
	var payload []byte
	limit := (*workspace.Store)(t.Store()).Config().MaxLine
	switch {
	case o.dash:
		// Whitespace in the payload is not stored and may make it longer than a line.
		if payload, err = o.app.ReadAll(ctx, 2*limit, inputTooLong(limit)); err != nil {
			return err
		}
	case o.text == "-":
		if o.text, err = o.app.ReadText(ctx, limit, inputTooLong(limit)); err != nil {
			return err
		}
		if strings.TrimSpace(o.text) == "" {
			return layout.Invalid("nothing was appended; did the command before the pipe fail?", "standard input has no text")
		}
	case o.payload != "", o.changed("payload"):
		payload = []byte(o.payload)
	}
	d := o.draft(payload)
	if o.artifact != "" {
		a, err := storeArtifact(ctx, t, o.artifact, o.mimeType)
		if err != nil {
			return err
		}
		d = referTo(d, a)
	}
	done, err := t.Append(ctx, &repo.AppendOptions{Anchor: o.anchor, Author: true}, d)
	if err != nil {
		return err
	}
	if o.app.JSON {
		return o.app.WriteLine(done[0].JSON())
	}
	o.app.PrintUnlessQuiet("@%d", done[0].ID)
	return nil
}
