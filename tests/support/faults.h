// Every allocation, and then every call of the disk, of a piece of work fails in turn. Each time
// the work must say so in a sentence (which names the file, where it was one), give back its memory
// and its descriptors, leave no temporary file, and leave every file as it was before or as it is
// when the work is done; and the same work without the fault must then come to the same end.
//
// Where there are more places than `most`, the first half of that number are all tried, and of the
// last ones an eighth; of those between, one of every few, drawn by a fixed seed.
#pragma once

#include "base/result.h"

typedef struct kp_faults {
  const char *folder;              // of all files of the work; emptied
  void (*prepare)(void *user);     // puts what is there before; NULL: nothing
  kp_result (*work)(void *user);   // keeps no memory
  kp_result (*again)(void *user);  // after the fault; NULL: the work itself
  void *user;
  int64_t most;                      // places tried; 0: 400
  bool (*grows)(const char *name);   // files that get one line after the other; NULL: none
  bool (*varies)(const char *name);  // files whose content is another each time; NULL: none
  bool (*goes)(const char *name);    // files that may come and go; NULL: none
  void (*check)(void *user);         // what else must hold after a fault; NULL: nothing
  bool lasts;                        // memory that ended does not come back
  bool recovers;  // a single failure of memory may be made good, as Lua does by collecting
} kp_faults;

// What there was to fail: a test can assert that the loops went over something.
typedef struct kp_faults_tried {
  int64_t n_allocations, n_disk_calls;
} kp_faults_tried;

// As kp_test_folder_make, but one thread works, so that the n-th call is the same each time, and
// the folder lies in memory where there is such a place: thousands of syncs take their time on a
// disk.
int kp_faults_folder_make(void **state);

kp_faults_tried kp_faults_try(const kp_faults *faults);
