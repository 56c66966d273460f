/** How a warning in the progress of a syncer begins that tells what is in the way of a commit. Others recognize it by that. */
export const commitObstaclePrefix = 'commit: not possible now: ';
