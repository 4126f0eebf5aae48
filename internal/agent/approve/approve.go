// Package approve decides whether the agent may do something: by the mode, by the user's rules, and
// by asking the person at the terminal.
//
// # The contract of an [Asker]
//
// An Asker asks a person. A terminal sets its own with [Gate.SetAsker], before the first turn: in
// hostcli, the function that registers a command's plugins does so with the assembly's gate. Without an
// Asker, a call that needs an answer is refused, and the model and the person are told why.
//
// Ask is called once for each call of a tool that needs an answer. Calls of one gate come one after
// the other, never side by side, and before the tool runs: the time in which a person thinks does not
// count for the tool. Ask returns when the person has answered, or with ctx.Err() when ctx ends, as it
// does when the turn is interrupted; a question that is still shown is then removed. Any error counts
// as [Deny], with the error as the reason.
//
// Texts of a [Request] come from a model. They may have control characters, be of any length, and
// imitate the question itself: the Asker makes them safe to show, and shows all of Command.
package approve

import "context"

// Request is what the agent wants to do, for a person to decide.
type Request struct {
	Session string // the session's id
	Tool    string // the tool's name, such as bash, fs.edit or github.create_issue
	Title   string // one line that says what would be done: "run a command in sub/dir"
	Command string // the command line of a shell, else the tool's arguments as indented JSON; "" if Diff says all
	Path    string // the file that would be written, relative to the project with slashes; "" if there is none
	Diff    string // how that file would change, as a unified diff with two lines of file names; "" if it is not text
	// Rule is what [Always] and [Session] would allow: the command's first words, such as "go test"
	// (of each part, with commas, if the command has several), or for another tool a rule as in the
	// settings, such as fs.edit or web.fetch(example.org). "" means that no rule could allow the
	// call without allowing much more: then [Always] is not offered, and [Session] allows this very
	// command only.
	Rule string
}

// Decision is a person's answer.
type Decision int

// The decisions. The zero value is not one of them, and counts as Deny.
const (
	Once    Decision = iota + 1 // this call
	Session                     // this call, and those of Request.Rule until the program or the session ends
	Always                      // this call, and from now on those of Request.Rule in this project
	Deny                        // not this call; the turn goes on, and the model reads Answer.Message
)

// Answer is a decision, and what the model is told with it.
type Answer struct {
	Decision Decision
	Message  string // a sentence for the model, with Deny: what to do instead; may be empty
}

// Refusal is what the model reads if a person has denied a call and given no message.
const Refusal = "refused by the user: do not try it again in another way; go on without it, or ask what to do instead"

// Asker asks a person.
type Asker interface {
	Ask(ctx context.Context, r Request) (Answer, error)
}
