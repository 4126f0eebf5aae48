// Package power cuts the power under the program, and looks at what is left: a workspace
// on a file system of its own, in a file, whose kernel is told to forget what is not on
// the disk yet. Then any command has to go on, with nothing lost that was acknowledged
// and nobody mending anything. It takes Linux, root and ext4: make soak-power.
package power
