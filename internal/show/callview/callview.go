// Package callview says how a call of a tool is shown: an edit as a diff, a command as in a terminal, a task list
// as a list, a search by its matches. It returns plain data; pages and documents render it.
package callview

import (
	"cmp"
	"strings"

	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/internal/store/activity"
	"tape/internal/text/jsonl"
)

// Shape is how a call is shown.
type Shape string

// The shapes. Their comments name the fields of a View that they use.
const (
	Plain   Shape = "tool"    // arguments and results as they are
	Edit    Shape = "edit"    // Files
	Write   Shape = "write"   // Code, of the first file
	Read    Shape = "read"    // a file
	Command Shape = "command" // Command
	Tasks   Shape = "tasks"   // Tasks
	Search  Shape = "search"  // Subject is the pattern
	Agent   Shape = "agent"   // Subject is the task
	Web     Shape = "web"     // Subject is the address or query
)

// Verb is what calls of the shape do, in a word; "" if only the tool's name says it.
func (s Shape) Verb() string {
	return map[Shape]string{Edit: "Edit", Write: "Write", Read: "Read", Command: "Run", Tasks: "Tasks", Search: "Search", Agent: "Subagent", Web: "Web"}[s]
}

// View is a call as it is shown. Its texts are as they were recorded, except for the lines of diffs, which are
// safe to show.
type View struct {
	Shape          Shape
	Subject        string // what the call is about, such as a whole command; if it changes files, the path of the first one
	Files          []File
	More           int   // files beyond those in Files
	Added, Removed int64 // lines of all files
	Code           string
	Command        string
	Tasks          []Task
	AgentID        string // of the subagent that was started, if the agent says it
}

// File is a file that a call changed.
type File struct {
	Path           string
	Op             string // "new", "deleted", "moved"; "" for a change
	Added, Removed int64
	Hunks          []Hunk
}

// Hunk is a run of lines of a diff. From is the number of its first line in the new file; 0 if that is unknown.
type Hunk struct {
	From  int
	Lines []display.TextLine
}

// Task is a line of a task list.
type Task struct{ Text, State string } // State is "done", "doing" or "open"

// maxFiles is how many files of a call are shown.
const maxFiles = 20

// Of says how a call is shown. Paths below dir are relative to it.
func Of(c *conversation.Call, dir string) View {
	args := c.Object()
	v := View{Shape: Plain}
	switch doing := activity.DoingOf(c.Name, args); doing.Effect {
	case activity.Runs:
		v.Shape, v.Command, v.Subject = Command, doing.Command, doing.Command
	case activity.Reads:
		v.Shape, v.Subject = Read, strings.Join(shortAll(doing.Paths, dir), " ")
	case activity.Writes:
		v.writes(c, doing, dir)
	default:
		v.other(c, args, dir)
	}
	if v.Subject == "" {
		v.Subject = short(c.Brief(), dir)
	}
	return v
}

// toolShapes has the shapes of calls by the tool's name, in lower case and without _, - and dots.
var toolShapes = map[string]Shape{
	"grep": Search, "glob": Search, "searchfilecontent": Search, "search": Search, "find": Search, "ls": Search, "listdirectory": Search,
	"list": Search, "listdir": Search, "codebasesearch": Search, "filesearch": Search, "grepsearch": Search,
	"todowrite": Tasks, "updateplan": Tasks, "writetodos": Tasks, "todo": Tasks,
	"task": Agent, "agent": Agent, "subagent": Agent, "spawnagent": Agent,
	"webfetch": Web, "websearch": Web, "fetch": Web, "googlewebsearch": Web, "webread": Web,
}

func (v *View) other(c *conversation.Call, args []byte, dir string) {
	name := strings.NewReplacer("_", "", "-", "", ".", "").Replace(strings.ToLower(c.Name))
	switch v.Shape = cmp.Or(toolShapes[name], Plain); v.Shape {
	case Tasks:
		if v.Tasks = tasksOf(args); v.Tasks == nil {
			v.Shape = Plain
			return
		}
		done := 0
		for _, t := range v.Tasks {
			if t.State == "done" {
				done++
			}
			if t.State == "doing" && v.Subject == "" {
				v.Subject = t.Text
			}
		}
		if v.Subject == "" {
			v.Subject = display.Count(done, "task done", "tasks done")
		}
	case Agent:
		v.Subject = cmp.Or(jsonl.GetString(args, "description"), jsonl.GetString(args, "task"), jsonl.GetString(args, "prompt"), jsonl.GetString(args, "message"))
		v.AgentID = cmp.Or(jsonl.GetString(c.Detail, "agentId"), jsonl.GetString(c.Detail, "agent_id"), jsonl.GetString(c.Detail, "metadata", "sessionId"))
	case Search:
		v.Subject = cmp.Or(jsonl.GetString(args, "pattern"), jsonl.GetString(args, "query"))
		if where := cmp.Or(jsonl.GetString(args, "path"), jsonl.GetString(args, "dir_path")); where != "" && short(where, dir) != "" {
			v.Subject = strings.TrimSpace(v.Subject + "  " + short(where, dir))
		}
	case Plain:
		if strings.HasPrefix(c.Name, "Task") { // TaskCreate, TaskUpdate
			v.Subject = strings.TrimSpace(strings.TrimSpace(jsonl.GetString(args, "subject")+" "+strings.TrimSpace("#"+jsonl.GetString(args, "taskId"))) + " " + jsonl.GetString(args, "status"))
			v.Subject = strings.TrimSuffix(v.Subject, " #")
			if v.Subject == "#" {
				v.Subject = ""
			}
		}
	}
}

// tasksOf reads a task list: todos of {content, status}, or a plan of {step, status}.
func tasksOf(args []byte) (out []Task) {
	for _, name := range []string{"todos", "plan", "tasks", "items"} {
		for item := range jsonl.Elements(jsonl.Get(args, name)) {
			t := Task{State: "open"}
			for _, field := range []string{"content", "step", "description", "text", "title"} {
				t.Text = cmp.Or(t.Text, jsonl.GetString(item, field))
			}
			switch jsonl.GetString(item, "status") {
			case "completed", "done", "cancelled":
				t.State = "done"
			case "in_progress":
				t.State = "doing"
			}
			if t.Text != "" {
				out = append(out, t)
			}
		}
	}
	return out
}

// short returns a text in which the paths below a directory are relative to it.
func short(text, dir string) string {
	dir = strings.TrimSuffix(dir, "/")
	if dir == "" || len(text) > 16<<10 {
		return text
	}
	if text == dir {
		return ""
	}
	return strings.ReplaceAll(text, dir+"/", "")
}

func shortAll(paths []string, dir string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = short(p, dir)
	}
	return out
}
