// Package about tells what a tape is about: its title, the agent and the model that it was
// recorded from, the project, when, how much, and by whom. All of it follows from the
// entries, one after the other, so what is known of a tape can be saved and continued.
package about
