// Parameter table of rigid { }: how bodies in contact are solved.
#include "base/param.h"
#include "kelpie/types.h"

extern const kp_param_table kp_rigid_params;

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_rigid_def, member, kind, unit, lowest, highest, text)

static const kp_param rows[] = {
  ROW(step, REAL, "s", 1e-9, 1, "Longest step between two searches for contacts."),
  ROW(substeps, INT, "", 1, 1000, "Sub-steps of the solver in a step of that length."),
  ROW(iterations, INT, "", 1, 1000, "Passes over the contacts in each sub-step."),
  ROW(contact_frequency, REAL, "Hz", 0.1, 1e6,
      "Stiffness of contacts; an eighth of the rate of the sub-steps at most."),
  ROW(contact_damping, REAL, "", 0.1, 1000, "Damping ratio of that push."),
  ROW(push_speed, REAL, "sizes/s", 0, 1e6,
      "No overlap is pushed out faster; a size is that of the smaller body."),
  ROW(margin, REAL, "sizes", 0, 1,
      "Contacts are made this early, so that they survive small gaps."),
  ROW(bounce_speed, REAL, "sizes/s", 0, 1e6, "Slower hits do not bounce."),
  ROW(light_support, REAL, "", 1, 1e9,
      "Mass ratio above which a heavy body on a light one gets more sub-steps."),
  ROW(domain_friction, REAL, "", 0, 10, "Coulomb coefficient of the closed faces of the domain."),
  ROW(domain_restitution, REAL, "", 0, 1, "Restitution of those faces."),
  ROW(continuous, BOOL, "", 0, 0,
      "Bodies that would cross their own thickness are met on their way."),
};

static void set_default(void *def) {
  *(kp_rigid_def *)def = kp_default_rigid_def();
}

const kp_param_table kp_rigid_params = {
  "rigid",
  "How rigid bodies in contact are solved.",
  rows,
  sizeof rows / sizeof *rows,
  sizeof(kp_rigid_def),
  set_default,
};
